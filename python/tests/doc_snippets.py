"""Snippets of the documentation, and whether what they print looks as the page says.

A fenced block is meant for tests when the line before it is ``<!-- test: NAME -->``, which readers
do not see. What follows a block that is run, as ``text`` or ``json``, is what it prints.
"""

import pathlib
import re
from typing import Any, List, NamedTuple

ROOT = pathlib.Path(__file__).parents[2]
_SNIPPET = re.compile(r"^<!-- test: ([^\n]+) -->\n```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

#: What differs from run to run, and what it looks like. The first that fits counts.
_VALUES = [
    (r"…", r".*"),
    (r"\d{4}-\d\d-\d\dT[\d:.]+Z", r"\d{4}-\d\d-\d\dT[\d:.]+Z"),
    (r"\b[0-9a-f]{32}\b", r"[0-9a-f]{32}"),
    (r"\b[0-9a-f]{16}\b", r"[0-9a-f]{16}"),
    (r"(?<!\w)\d+(?:\.\d+)? (?:ms|s|min|h)\b", r"\d+(?:\.\d+)? (?:ms|s|min|h)"),
    (r"(?<!\w)\d+(?:\.\d+)*(?!\w)", r"\d+(?:\.\d+)*"),
    (r"\s+", r"\s+"),
]
_VALUE = re.compile("|".join(f"({value})" for value, _ in _VALUES))


class Snippet(NamedTuple):
    name: str
    language: str
    text: str


def snippets(page: str) -> List[Snippet]:
    """The marked blocks of a page of the repository."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return [Snippet(*found) for found in _SNIPPET.findall(text)]


def missing_line(expected: str, printed: str) -> str:
    """The first line that was not printed: in this order, others between, other values. What
    stands between ``…`` is said of the output, and comments of server-sent events come by the
    clock: they are not looked for."""
    rest = iter(printed.splitlines())
    for line in expected.splitlines():
        line = line.strip()
        if not line or line.startswith(":") or (line.startswith("…") and line.endswith("…")):
            continue
        pattern = _pattern(line)
        if not any(re.fullmatch(pattern, found.strip()) for found in rest):
            return line
    return ""


def _pattern(line: str) -> str:
    pattern, at = "", 0
    for value in _VALUE.finditer(line):
        looks_like = _VALUES[value.lastindex - 1][1]
        pattern += re.escape(line[at : value.start()]) + looks_like
        at = value.end()
    return pattern + re.escape(line[at:])


def missing_members(example: Any, answer: Any, path: str = "") -> List[str]:
    """Members of the example that the answer does not have, or has of another type. ``null`` and
    ``…`` stand for anything; of a list, one must look like the example's first."""
    if example is None or example == "…":
        return []
    if isinstance(example, dict) and isinstance(answer, dict):
        found = []
        for key, value in example.items():
            if key == "…":
                continue
            if key not in answer:
                found.append(f"{path}.{key}")
            else:
                found += missing_members(value, answer[key], f"{path}.{key}")
        return found
    if isinstance(example, list) and isinstance(answer, list):
        if not example:
            return []
        found = [missing_members(example[0], one, f"{path}[]") for one in answer]
        return min(found, key=len, default=[f"{path}[]"])
    return [] if _kind(example) == _kind(answer) else [path]


def _kind(value: Any) -> str:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return "number" if is_number else type(value).__name__
