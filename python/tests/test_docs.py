"""The programs of the documentation that need nothing else run.

Rust is run by that crate's own tests, pages with commands by ``test_docs_commands``, programs with
adapters by ``test_adapters_docs``.
"""

import pytest
from conftest import run_python
from doc_snippets import missing_line, missing_members, snippets
from kymo_program import KYMO

PAGES = ["docs/sessions/quickstart.md", "python/README.md"]


def programs():
    for page in PAGES:
        found = snippets(page)
        for index, snippet in enumerate(found):
            if snippet.language != "python":
                continue
            following = found[index + 1] if index + 1 < len(found) else None
            expected = following.text if following and following.language == "text" else None
            yield pytest.param(snippet, expected, id=f"{page}:{snippet.name}")


@pytest.mark.parametrize(("snippet", "expected"), list(programs()))
def test_programs_of_the_documentation_work(snippet, expected, tmp_path):
    if "needs kymo" in snippet.name and KYMO is None:
        pytest.skip("the program kymo is not there: set KYMO_BIN to have this tested")
    done = run_python(snippet.text, tmp_path, timeout=120)
    assert done.returncode == 0, done.stderr
    if expected is not None:
        assert done.stdout == expected
    if "kymograph.session(" in snippet.text:
        assert list(tmp_path.glob("*.kymo.jsonl"))


def test_the_pages_have_programs():
    names = {parameter.id for parameter in programs()}
    assert "docs/sessions/quickstart.md:a session" in names
    assert "python/README.md:session" in names


def test_lines_are_compared_by_their_shape():
    expected = "…its own output…\nkymo: a.jsonl · trace " + "a9" * 16 + " · 12.4 s · exit 0\n"
    printed = "hello\nkymo:  a.jsonl · trace " + "0b" * 16 + " · 3 ms · exit 0\n"
    assert missing_line(expected, printed) == ""
    assert "exit 0" in missing_line(expected, printed.replace("exit", "status"))
    assert "exit 0" in missing_line(expected, printed.replace("0b" * 16, "none"))
    assert missing_line("a\nb", "b\na") == "b"
    assert missing_line("task.000001 2026-11-15T12:30:00.5Z", "task.7 2027-01-01T00:00:00Z") == ""
    assert missing_line('{"id":"a.6ffa",…}', '{"id":"a.6ffa","n":{}}') == ""
    assert missing_line('{"id":"a.6ffa",…}', '{"id":"a.7","n":{}}')


def test_members_are_compared_by_name_and_kind():
    example = {"a": 1, "b": None, "…": "as above", "c": [{"d": "x"}], "e": {"f": True}}
    answer = {"a": 2.5, "b": 1, "c": [{}, {"d": ""}], "e": {"f": False}}
    assert missing_members(example, answer) == []
    assert missing_members(example, {"a": "2", "c": [], "e": {"f": 1}}) == [
        ".a",
        ".b",
        ".c[]",
        ".e.f",
    ]
