"""Programs on free ports with a directory of their own, for checks that ask real ones; above all `kymo serve`."""

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

START_TIMEOUT_SECS = 60
STOP_TIMEOUT_SECS = 20
ASK_TIMEOUT_SECS = 30
# Another program may take a port between our look and the start.
START_TRIES = 3
IS_TAKEN = ("in use", "Address already")


def free_port():
    """A port that was free a moment ago."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def clean_environment():
    """The environment without what is set for other servers: that is no part of a check."""
    return {key: value for key, value in os.environ.items() if not key.startswith(("KYMO_", "OTEL_"))}


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


def ask(url, form=None, headers=None, context=None):
    """The status and text of an answer, whatever the status. `context` is for TLS: whom to trust."""
    data = urllib.parse.urlencode(form).encode() if form is not None else None
    request = urllib.request.Request(url, data=data, headers=headers or {})
    try:
        with urllib.request.urlopen(request, timeout=ASK_TIMEOUT_SECS, context=context) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@contextlib.contextmanager
def process(what, arguments, is_ready, folder, environment):
    """A program that is ready, and gone afterwards. What it says goes to a file: nobody reads a pipe."""
    log_path = pathlib.Path(folder, "log")
    with log_path.open("w") as log:
        child = subprocess.Popen(arguments, stdout=log, stderr=log, env=environment)
    try:
        try:
            wait_until(what, is_ready, child)
        except RuntimeError as error:
            raise RuntimeError(f"{error}\n{log_path.read_text()[-2000:]}") from error
        yield child
    finally:
        child.terminate()
        try:
            child.wait(STOP_TIMEOUT_SECS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


@contextlib.contextmanager
def on_free_ports(count, start):
    """What `start(ports, folder)` starts, with other ports if one of them was taken meanwhile."""
    with contextlib.ExitStack() as stack:
        for left in reversed(range(START_TRIES)):
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="kymo-deploy-"))
            ports = [free_port() for _ in range(count)]
            try:
                stack.enter_context(start(ports, folder))
                break
            except RuntimeError as error:
                if left == 0 or not any(words in str(error) for words in IS_TAKEN):
                    raise
        yield ports


class Server:
    """A running server and its ports."""

    def __init__(self, ports, scheme):
        self.http_port, self.grpc_port, self.otlp_http_port, self.metrics_port = ports
        self.url = f"{scheme}://localhost:{self.http_port}"


@contextlib.contextmanager
def running(
    program, *arguments, prepare=None, base_path="", variables=None, exposes=True, scheme="http", verified=None
):
    """A `kymo serve` that is ready.

    `prepare` gets the main port before the start; `verified` is the context of TLS that its certificate is
    verified with; `exposes` is off for one that has no store to show received metrics from.
    """

    def start(ports, folder):
        if prepare:
            prepare(ports[0])
        flags = ["--http", "--otlp-grpc", "--otlp-http"] + ["--expose-metrics"] * exposes
        addresses = [word for flag, port in zip(flags, ports) for word in (flag, f"127.0.0.1:{port}")]
        if base_path:
            addresses += ["--base-path", base_path]
        ready = f"{scheme}://localhost:{ports[0]}{base_path}/ready"
        return process(
            "the server",
            [program, "serve", "--data", f"{folder}/data", *addresses, *arguments],
            lambda: ask(ready, context=verified)[0] == 200,
            folder,
            clean_environment() | (variables or {}),
        )

    with on_free_ports(4, start) as ports:
        yield Server(ports, scheme)
