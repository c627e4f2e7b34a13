"""A `kymo serve` on free ports with a directory of its own, for checks that ask a real server."""

import contextlib
import os
import pathlib
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

START_TIMEOUT_SECS = 30


def free_port():
    """A port that was free a moment ago."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_until(what, ready, process=None, timeout_secs=START_TIMEOUT_SECS):
    """Asks `ready` again and again until it is true; says what did not come otherwise."""
    end = time.monotonic() + timeout_secs
    while time.monotonic() < end:
        if process is not None and process.poll() is not None:
            raise RuntimeError(f"{what}: the program ended with {process.returncode}")
        with contextlib.suppress(OSError):
            if ready():
                return
        time.sleep(0.05)
    raise RuntimeError(f"{what} did not come within {timeout_secs} s")


def ask(url, form=None, headers=None):
    """The status and text of an answer, whatever the status."""
    data = urllib.parse.urlencode(form).encode() if form is not None else None
    request = urllib.request.Request(url, data=data, headers=headers or {})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


class Server:
    """A running server and its ports."""

    def __init__(self, process, ports):
        self.process = process
        self.http_port, self.grpc_port, self.otlp_http_port, self.metrics_port = ports
        self.url = f"http://127.0.0.1:{self.http_port}"


@contextlib.contextmanager
def running(program, *arguments, ports=None):
    """A server that is ready, and gone afterwards."""
    ports = ports or [free_port() for _ in range(4)]
    # What is set where this runs is no part of the check.
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("KYMO_", "OTEL_"))}
    with tempfile.TemporaryDirectory(prefix="kymo-deploy-") as folder:
        log_path = pathlib.Path(folder, "log")
        with log_path.open("w") as log:
            process = subprocess.Popen(
                [
                    program,
                    "serve",
                    "--data",
                    f"{folder}/data",
                    "--http",
                    f"127.0.0.1:{ports[0]}",
                    "--otlp-grpc",
                    f"127.0.0.1:{ports[1]}",
                    "--otlp-http",
                    f"127.0.0.1:{ports[2]}",
                    "--expose-metrics",
                    f"127.0.0.1:{ports[3]}",
                    *arguments,
                ],
                stdout=log,
                stderr=log,
                env=environment,
            )
        try:
            server = Server(process, ports)
            try:
                wait_until("the server", lambda: ask(f"{server.url}/ready")[0] == 200, process)
            except RuntimeError as error:
                raise RuntimeError(f"{error}\n{log_path.read_text()[-2000:]}") from error
            yield server
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
