"""The programs of docs/sessions/integrations.md run."""

from __future__ import annotations

import subprocess
import sys

import pytest
from doc_snippets import ROOT, snippets

PAGE = "docs/sessions/integrations.md"
PROGRAMS = [pytest.param(snippet.text, id=snippet.name) for snippet in snippets(PAGE)]


@pytest.mark.parametrize("code", PROGRAMS)
def test_a_program_of_the_documentation_runs(code, tmp_path):
    (tmp_path / "program.py").write_text(code)
    run = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=180
    )
    assert run.returncode == 0, run.stderr
    files = [*tmp_path.glob("*.kymo.jsonl"), *tmp_path.glob("out/*.kymo.jsonl")]
    assert len(files) == 1 and files[0].stat().st_size > 1000


def test_every_program_is_run_or_says_why_not():
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    assert text.count("```python") == len(PROGRAMS) + text.count("<!-- not run: ")
