"""Messages of Dragon's telemetry: recorded ones, and real ones where Dragon's runtime starts."""

from __future__ import annotations

import json
import os
import queue
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from adapter_helpers import open_session, wait_until
from conftest import Unprintable

from kymograph.adapters.dragon import DragonAdapter, collect

MESSAGE = {
    "host": "n01",
    "ts": 1794770871,
    "dps": [
        {"metric": "cpu_percent", "value": 12.5},
        {"metric": "used_RAM", "value": 41.0},
        {"metric": "disk_read_bytes", "value": 4096.0},
        {"metric": "disk_write_bytes", "value": 0.0},
        {"metric": "net_sent_bytes", "value": 100.0},
        {"metric": "net_recv_bytes", "value": 200.0},
        {"metric": "DeviceUtilization", "value": 40, "device_id": 0},
        {"metric": "DeviceMemoryUtilization", "value": 30, "device_id": 0},
        {"metric": "DeviceUtilization", "value": 97.0, "device_id": 1},
        {"metric": "load_average", "value": 0.5},
        {"metric": "cpu_percent", "value": None},
    ],
}


def by_gpu(session):
    return {one.gpu_id: one for one in session.resources()}


def test_a_message_is_an_update_of_its_node_and_of_each_gpu(tmp_path):
    messages: queue.Queue = queue.Queue()
    with open_session(tmp_path) as session:
        with DragonAdapter(session, messages):
            messages.put(MESSAGE)
    known = by_gpu(session)
    assert set(known) == {None, 0, 1}
    assert known[None].values == {
        "cpu_percent": 12.5,
        "memory_percent": 41.0,
        "disk_read_bytes": 4096.0,
        "disk_write_bytes": 0.0,
        "net_sent_bytes": 100.0,
        "net_recv_bytes": 200.0,
        "gpu_percent": 97.0,
    }
    assert known[1].values["gpu_percent"] == 97.0 and "cpu_percent" not in known[1].values
    assert {one.node_id for one in known.values()} == {"n01"}
    assert known[None].backend == "dragon" and known[None].time == 1794770871


def test_messages_of_another_shape_are_counted(tmp_path):
    with open_session(tmp_path) as session:
        adapter = DragonAdapter(session, queue.Queue())
        for points in ([1], 3, None):
            adapter.take({"host": "n", "dps": points})
        for message in (None, {}):
            adapter.take(message)
        adapter.take({"host": "n", "dps": [{"metric": "cpu_percent", "value": "much"}]})
        adapter.take({"host": "n", "dps": [{"metric": "cpu_percent", "value": float("nan")}]})
        assert adapter.malformed == 5
    assert session.resources() == []


def test_of_each_node_one_message_an_interval_counts(tmp_path):
    with open_session(tmp_path) as session:
        adapter = DragonAdapter(session, queue.Queue(), interval=5)
        for second, cpu in ((100, 1.0), (102, 2.0), (105, 3.0), (109, 4.0)):
            points = [{"metric": "cpu_percent", "value": cpu}]
            adapter.take({"host": "n", "ts": second, "dps": points})
    (node,) = session.resources()
    assert node.values["cpu_percent"] == 3.0


def test_the_worker_of_a_node_puts_messages_that_the_adapter_reads(tmp_path):
    messages: queue.Queue = queue.Queue()
    stop = threading.Event()
    worker = threading.Thread(target=collect, args=(messages, stop, 0.1))
    with open_session(tmp_path) as session:
        with DragonAdapter(session, messages):
            worker.start()
            wait_until(lambda: "cpu_percent" in getattr(by_gpu(session).get(None), "values", ()))
            stop.set()
            worker.join()
    node = by_gpu(session)[None]
    assert node.node_id == socket.gethostname()
    assert 0 < node.values["memory_percent"] < 100


SCRIPT = """
import json, sys, threading
import dragon
import multiprocessing as mp
from dragon.native.queue import Queue
from dragon.native.event import Event
from dragon.native.process import Process
import kymograph
from kymograph.adapters.dragon import DragonAdapter, collect

if __name__ == "__main__":
    mp.set_start_method("dragon")
    messages, stop = Queue(), Event()
    with kymograph.session("dragon", directory=sys.argv[1], poll_interval=None) as session:
        with DragonAdapter(session, messages):
            worker = Process(target=collect, args=(messages, stop, 0.2))
            worker.start()
            for _ in range(200):
                if any("net_sent_bytes" in one.values for one in session.resources()):
                    break
                threading.Event().wait(0.1)
            stop.set()
            worker.join()
    known = [{"node": one.node_id, "backend": one.backend, **one.values}
             for one in session.resources()]
    with open(sys.argv[2], "w") as file:
        json.dump(known, file)
"""


def test_a_real_queue_of_dragon_between_real_processes(tmp_path):
    dragon = shutil.which("dragon", path=str(Path(sys.executable).parent))
    if dragon is None:
        pytest.skip("dragonhpc is not installed")
    script, result = tmp_path / "script.py", tmp_path / "result.json"
    script.write_text(SCRIPT)
    command = [dragon, "-s", str(script), str(tmp_path), str(result)]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    try:
        run = subprocess.run(
            command,
            timeout=120,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
        )
    except subprocess.TimeoutExpired:
        pytest.skip("Dragon's runtime does not start here")
    if not result.exists():
        pytest.skip(f"Dragon's runtime does not start here: {run.stderr[-300:]}")
    (node,) = json.loads(result.read_text())
    assert node["node"] == socket.gethostname() and node["backend"] == "dragon"
    assert 0 < node["memory_percent"] < 100 and node["net_sent_bytes"] >= 0


class Endless:
    """A queue that is never empty, and gives what nobody can read."""

    def get(self, timeout: float) -> dict:
        return {"host": "n", "ts": float("inf"), "dps": []}


def test_a_queue_that_is_never_empty_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr("kymograph.adapters.dragon.DRAIN_SECONDS", 0.2)
    with open_session(tmp_path) as session:
        with DragonAdapter(session, Endless()) as adapter:
            pass
        assert not adapter._thread.is_alive()
        assert adapter.malformed > 0


def test_a_message_that_cannot_be_handled_does_not_end_the_reading(tmp_path):
    messages: queue.Queue = queue.Queue()
    with open_session(tmp_path) as session:
        with DragonAdapter(session, messages) as adapter:
            messages.put({"host": "n", "ts": 10**400, "dps": []})
            told = {"host": "n", "dps": [{"metric": "DeviceUtilization", "value": 1}]}
            told["dps"][0]["device_id"] = float("inf")
            messages.put(told)
            messages.put({"host": Unprintable(), "ts": 1, "dps": []})
            messages.put(MESSAGE)
    assert adapter.malformed == 3
    assert set(by_gpu(session)) == {None, 0, 1}
