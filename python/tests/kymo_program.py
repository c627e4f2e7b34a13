"""The program kymo, and a server of it for tests that need one."""

import os
import shutil
import subprocess

import pytest

KYMO = shutil.which(os.environ.get("KYMO_BIN") or "kymo")
needs_kymo = pytest.mark.skipif(
    KYMO is None, reason="the program kymo is not there: set KYMO_BIN to have this tested"
)


class Server:
    """``kymo serve`` on free ports, as long as a ``with``."""

    def __init__(self, data):
        command = [KYMO, "serve", "--data", str(data), "--no-probe"]
        for flag in ("--http", "--otlp-grpc", "--otlp-http"):
            command += [flag, "127.0.0.1:0"]
        environment = {key: value for key, value in os.environ.items() if key[:5] != "KYMO_"}
        # Into a file, since nobody reads a pipe meanwhile.
        self._log = open(f"{data}.log", "w+", encoding="utf-8")
        self._process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=self._log, text=True
        )
        addresses = {}
        for line in self._process.stdout:
            name, _, url = line.partition("  ")
            addresses[name] = url.strip().rstrip("/")
            # The last of what it says when it is ready.
            if line.startswith("data "):
                break
        else:
            self._log.seek(0)
            raise AssertionError(f"the server did not start: {self._log.read()}")
        self.url = addresses["http"].split(" ")[0]
        self.grpc_url = addresses["otlp grpc"].split(" ")[0]
        self.http_url = addresses["otlp http"].split(" ")[0]

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        self._process.terminate()
        self._process.communicate(timeout=60)
        self._log.close()
