"""The programs of docs/sessions/integrations.md run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "sessions" / "integrations.md"
#: A heading, or a block of Python. One whose first line says `no-run` is not run.
PART = re.compile(r"^## (?P<heading>[^\n]+)$|^```python\n(?P<code>.*?)^```$", re.M | re.S)


def programs():
    heading = ""
    for part in PART.finditer(PAGE.read_text()):
        heading = part["heading"] or heading
        if part["code"]:
            yield pytest.param(part["code"], id=heading)


@pytest.mark.parametrize("code", list(programs()))
def test_a_program_of_the_documentation_runs(code, tmp_path):
    (tmp_path / "program.py").write_text(code)
    run = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=180
    )
    assert run.returncode == 0, run.stderr
    files = [*tmp_path.glob("*.kymo.jsonl"), *tmp_path.glob("out/*.kymo.jsonl")]
    assert len(files) == 1 and files[0].stat().st_size > 1000
