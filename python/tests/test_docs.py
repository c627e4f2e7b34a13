"""The snippets of the documentation run.

A fenced block is run when the line before it is ``<!-- test: NAME -->``; a block of ``text`` is
what the one before it must print. Blocks of Rust are run by that crate's own tests.
"""

import os
import pathlib
import re
import shutil

import pytest
from conftest import run_python

ROOT = pathlib.Path(__file__).parents[2]
PAGES = [
    "docs/sessions/quickstart.md",
    "docs/sessions/integrations.md",
    "docs/services.md",
    "python/README.md",
]
SNIPPET = re.compile(r"^<!-- test: ([^\n]+) -->\n```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
KYMO = shutil.which(os.environ.get("KYMO_BIN") or "kymo")


def snippets():
    for page in PAGES:
        path = ROOT / page
        if not path.exists():
            continue
        found = SNIPPET.findall(path.read_text(encoding="utf-8"))
        for index, (name, language, text) in enumerate(found):
            if language != "python":
                continue
            following = found[index + 1] if index + 1 < len(found) else None
            expected = following[2] if following and following[1] == "text" else None
            yield pytest.param(name, text, expected, id=f"{page}:{name}")


@pytest.mark.parametrize(("name", "text", "expected"), list(snippets()))
def test_snippets_of_the_documentation_work(name, text, expected, tmp_path):
    if "needs kymo" in name and KYMO is None:
        pytest.skip("the program kymo is not there: set KYMO_BIN to have this tested")
    done = run_python(text, tmp_path, timeout=120)
    assert done.returncode == 0, done.stderr
    if expected is not None:
        assert done.stdout == expected
    if "kymograph.session(" in text:
        assert list(tmp_path.glob("*.kymo.jsonl"))


def test_the_pages_have_snippets():
    names = {parameter.id for parameter in snippets()}
    assert "docs/sessions/quickstart.md:a session" in names
    assert "python/README.md:session" in names
