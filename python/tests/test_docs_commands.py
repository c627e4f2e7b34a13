"""Pages of the documentation with commands run, from top to bottom, against a real server.

| block | how it is run |
|---|---|
| ``sh`` | by bash in the page's directory; ``kymo`` is the program under test |
| ``python`` | by this Python, there |
| ``yaml`` | written to the file that it is named after: ``file NAME`` |
| ``text``, ``json`` | what the block before it prints: lines and members, whatever their values |

Ports 3200, 4317 and 4318 of this machine, and of the machine ``kymo``, become those of the server.
A name that ends with ``exits N`` says how a block ends; ``needs PROGRAM``, what it is not run
without.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import warnings

import pytest
from doc_snippets import missing_line, missing_members, snippets
from kymo_program import KYMO, Server, needs_kymo

import kymograph

pytestmark = needs_kymo

#: What pages call a session and its file.
SESSION = "train.6ffa6904"

#: ``kymo open`` runs until it is told to stop, which it is when it has said where it is.
PROGRAM = """\
#!/bin/bash
if [[ $1 != open ]]; then
    exec "$KYMO_UNDER_TEST" "$@"
fi
coproc OPEN { exec "$KYMO_UNDER_TEST" "$@" --no-browser; }
number=$OPEN_PID is_told=
while read -r line; do
    echo "$line"
    if [[ $line == *http://* && ! $is_told ]]; then
        kill -INT "$number"
        is_told=yes
    fi
done <&"${OPEN[0]}"
wait "$number"
"""

#: How long a block may take: more than any does, also on a machine that compiles beside it.
BLOCK_SECONDS = 120


@pytest.fixture
def server(tmp_path):
    with Server(tmp_path / "data") as server:
        yield server


class Page:
    """A page whose blocks are run in a directory of its own."""

    def __init__(self, name, place, server, **environment):
        self.name = name
        self.directory = place / "work"
        self.directory.mkdir()
        self._server = server
        programs = place / "programs"
        programs.mkdir()
        (programs / "kymo").write_text(PROGRAM)
        (programs / "kymo").chmod(0o755)
        here = os.path.dirname(sys.executable)
        self._environment = {
            **os.environ,
            "PATH": os.pathsep.join([str(programs), here, os.environ["PATH"]]),
            "KYMO_UNDER_TEST": KYMO,
            "KYMO_URL": server.url,
            **environment,
        }

    def run(self, languages=("sh", "python", "yaml", "text", "json"), watch=None):
        """Runs the blocks; gives what each printed. ``watch`` gets every line as it comes."""
        printed, last = {}, ""
        for name, language, text in snippets(self.name):
            if language not in languages:
                continue
            text = self._readdressed(text)
            if language == "yaml":
                (self.directory / name.partition("file ")[2]).write_text(text)
            elif language == "text":
                missing = missing_line(text, last)
                assert not missing, f"{name}: no line like {missing!r} in\n{last}"
            elif language == "json":
                assert missing_members(json.loads(text), json.loads(last)) == [], last
            else:
                needed = name.partition("needs ")[2]
                if needed and shutil.which(needed) is None:
                    warnings.warn(f"left out: {name} of {self.name}", stacklevel=2)
                    continue
                command = ["bash", "-euo", "pipefail", "-c", text]
                if language == "python":
                    command = [sys.executable, "-c", text]
                code, last = self._output(command, watch)
                assert code == int(name.partition("exits ")[2] or 0), f"{name}:\n{last}"
                printed[name] = last
        return printed

    def _readdressed(self, text):
        ports = (
            ("3200", self._server.url),
            ("4317", self._server.grpc_url),
            ("4318", self._server.http_url),
        )
        for port, url in ports:
            for host in ("localhost", "127.0.0.1", "kymo"):
                text = text.replace(f"{host}:{port}", url.partition("//")[2])
        return text

    def _output(self, command, watch):
        process = subprocess.Popen(
            command,
            cwd=self.directory,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            # With all that it starts, which has its output, too.
            start_new_session=True,
        )
        is_late = threading.Timer(BLOCK_SECONDS, os.killpg, (process.pid, signal.SIGKILL))
        is_late.start()
        lines = []
        try:
            for line in process.stdout:
                lines.append(line)
                if watch is not None:
                    watch(line)
            return process.wait(), "".join(lines)
        finally:
            is_late.cancel()


def record(directory, **options):
    """A session as pages have it, still open: a task that failed, one that runs, an update, an
    event."""
    session = kymograph.session(
        "train",
        id=SESSION,
        service_name="trainer",
        directory=directory,
        poll_interval=None,
        **options,
    )
    failed = session.create_task(
        "simulate",
        backend="local",
        node_id="node1",
        executable="simulate",
        task_type="compute",
        attributes={"lr": 0.5},
    )
    failed.submitted()
    failed.started()
    failed.failed(ValueError("no such file"))
    running = session.create_task("simulate", backend="local")
    running.submitted()
    session.resource_update("node1", cpu_percent=55.5, memory_percent=31.0)
    session.emit("myapp.Score", task_id=running.id, score=0.9)
    assert session.flush()
    return session, running


def test_services(tmp_path, server):
    page = Page("docs/services.md", tmp_path, server, OTEL_EXPORTER_OTLP_ENDPOINT=server.grpc_url)
    printed = page.run()
    seen = printed["see it"]
    assert "handle" in seen and "slow model" in seen and "trainer" in seen
    assert "accepted" in printed["doctor"]


def test_sessions_over_http(tmp_path, server):
    page = Page("docs/sessions/api.md", tmp_path, server)
    session, running = record(page.directory, endpoint=server.grpc_url)

    def go_on(line):
        if line.startswith("event: snapshot"):
            running.started("node1")
            session.flush()
            running.completed()
            # Its span, too, before that of the session, which ends the stream.
            session.flush()
            session.close()

    printed = page.run(watch=go_on)
    assert {"sessions", "one session", "events"} <= set(printed)
    assert session.is_ended


def test_commands_as_sessions(tmp_path, server):
    parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    page = Page("docs/sessions/run.md", tmp_path, server, TRACEPARENT=parent)
    (page.directory / "train.py").write_text("print('epoch 1')\n")
    printed = page.run()
    assert "epoch 1" in printed["run"]
    assert "below" in printed


def test_reports(tmp_path, server):
    page = Page("docs/sessions/report.md", tmp_path, server)
    session, _ = record(page.directory, endpoint=server.grpc_url)
    session.close()
    for name in ("monday", "tuesday", "run"):
        shutil.copy(session.path, page.directory / f"{name}.kymo.jsonl")
    # Of the server, which is beside it.
    (page.directory / "kymo-data").symlink_to(tmp_path / "data")
    printed = page.run()
    assert printed["report"].count(SESSION) >= 3
    assert (page.directory / f"{SESSION}.html").stat().st_size > 1000
    figures = printed.get("figures needs jq")
    assert figures is None or json.loads(figures).keys() == {"p95", "tail"}


def test_what_comes_after_a_session(tmp_path, server):
    page = Page(
        "docs/sessions/quickstart.md",
        tmp_path,
        server,
        OTEL_EXPORTER_OTLP_ENDPOINT=server.grpc_url,
    )
    (page.directory / "train.py").write_text("print('epoch 1')\n")
    session, _ = record(page.directory)
    session.close()
    printed = page.run(languages=("sh",))
    assert "epoch 1" in printed["any program"]
    assert SESSION in printed["then"] and "http://127.0.0.1" in printed["then"]
