"""What tests share: sessions in a directory of their own, and what they wrote."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

import kymograph

#: Settings of whoever runs the tests would change what sessions do.
for _name in list(os.environ):
    if _name.startswith("OTEL_") or _name in (
        "TRACEPARENT",
        "KYMO_OTLP_ENDPOINT",
        "KYMO_OTEL_DEBUG",
        "KYMO_URL",
        "KYMO_TENANT",
    ):
        del os.environ[_name]


@pytest.fixture
def make_session(tmp_path):
    """Starts sessions that write to the test's directory, and closes them."""
    made = []

    def make(name="test", **options):
        options.setdefault("directory", tmp_path)
        options.setdefault("poll_interval", None)
        made.append(kymograph.session(name, **options))
        return made[-1]

    yield make
    for session in made:
        session.close()


@pytest.fixture
def session(make_session):
    """A session that looks at no node."""
    return make_session()


def lines(path):
    """The lines of a checkpoint."""
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file.read().split("\n")[:-1]]


def plain(attributes):
    """Attributes of OTLP/JSON as a dictionary."""
    read = {"stringValue": str, "intValue": int, "doubleValue": float, "boolValue": bool}
    values = {}
    for attribute in attributes:
        ((kind, value),) = attribute["value"].items()
        values[attribute["key"]] = read[kind](value) if kind in read else value
    return values


def events_of(path):
    """Events of a checkpoint: names, attributes, ids."""
    found = []
    for line in lines(path):
        for group in line.get("resourceLogs", []):
            for scope in group["scopeLogs"]:
                for record in scope["logRecords"]:
                    found.append({**record, "attributes": plain(record.get("attributes", []))})
    return found


def spans_of(path):
    """Spans of a checkpoint."""
    found = []
    for line in lines(path):
        for group in line.get("resourceSpans", []):
            for scope in group["scopeSpans"]:
                for span in scope["spans"]:
                    found.append({**span, "attributes": plain(span.get("attributes", []))})
    return found


def resource_of(path):
    """The resource of a checkpoint's first line of OTLP."""
    first = lines(path)[1]
    ((key, groups),) = [(key, value) for key, value in first.items() if key.startswith("resource")]
    return plain(groups[0]["resource"]["attributes"])


def run_python(program, cwd, timeout=60, **environment):
    """Runs a program in a Python of its own."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        cwd=cwd,
        timeout=timeout,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )


class Unprintable:
    """A value without text."""

    def __str__(self):
        raise RuntimeError("not now")


class UnprintableError(Exception):
    """An error without text."""

    def __str__(self):
        raise RuntimeError("not now")
