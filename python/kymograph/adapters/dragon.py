"""Nodes of DragonHPC: its telemetry's messages as `ResourceUpdate`s.

Dragon's telemetry (and RHAPSODY's workers, one a node) put messages like this on a queue:

    {"host": "n01", "ts": 1794770871,
     "dps": [{"metric": "cpu_percent", "value": 12.5},
             {"metric": "used_RAM", "value": 41.0},
             {"metric": "DeviceUtilization", "value": 97.0, "device_id": 0}]}

    with DragonAdapter(session, queue):
        ...

The queue is anything with `get(timeout=…)`: `dragon.native.queue.Queue`, or one of the standard
library. Each message gives an update of its node, whose GPU value is the maximum, and one of each
of its GPUs. Values that are not numbers, metrics that nobody knows and messages of another shape
are left out, and the latter counted (`malformed`). :func:`collect` is a worker for each node.
"""

from __future__ import annotations

import logging
import math
import queue as queues
import socket
import threading
import time
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..session import Session

__all__ = ["DragonAdapter", "collect"]

logger = logging.getLogger(__name__)

#: How often the reader looks whether it should end.
WAIT_SECONDS = 0.2
#: How long leaving waits for messages that are in the queue already.
DRAIN_SECONDS = 2.0

#: Dragon's metrics, and RHAPSODY's, by our fields.
_NODE = {
    "cpu_percent": "cpu_percent",
    "used_RAM": "memory_percent",
    "disk_read_bytes": "disk_read_bytes",
    "disk_write_bytes": "disk_write_bytes",
    "net_sent_bytes": "net_sent_bytes",
    "net_recv_bytes": "net_recv_bytes",
}
_GPU = "DeviceUtilization"


class DragonAdapter:
    """Reads a queue, in a thread of its own, while its `with` lasts."""

    def __init__(
        self, session: Session, queue: Any, *, interval: float = 0.0, backend: str = "dragon"
    ) -> None:
        """With an `interval`, of each node at most one message in so many seconds counts."""
        self._session = session
        self._queue = queue
        self._interval = interval
        self._backend = backend
        self._last: dict[str, float] = {}
        self._is_stopping = threading.Event()
        self._thread = threading.Thread(
            target=self._read, name="kymograph-dragon", daemon=True
        )
        #: Messages that were of another shape.
        self.malformed = 0

    def __enter__(self) -> DragonAdapter:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_stopping.set()
        self._thread.join(DRAIN_SECONDS + 2 * WAIT_SECONDS)

    def _read(self) -> None:
        until = math.inf
        while time.monotonic() < until:
            # A queue that is filled all the time is never empty.
            if until == math.inf and self._is_stopping.is_set():
                until = time.monotonic() + DRAIN_SECONDS
            try:
                message = self._queue.get(timeout=WAIT_SECONDS)
            except (queues.Empty, TimeoutError):
                if self._is_stopping.is_set():
                    return
                continue
            except Exception:
                # The queue is gone, as it is when Dragon's runtime ends first.
                logger.debug("cannot read the queue any more", exc_info=True)
                return
            self.take(message)

    def take(self, message: Any) -> None:
        """Handles one message."""
        try:
            host, points = str(message["host"]), list(message["dps"])
            when = float(message.get("ts") or time.time())
            if not math.isfinite(when):
                raise ValueError(f"{when} is no time")
            node, gpus = _values(points)
        except Exception:
            # Whatever is in it. One message is not worth all that follow.
            self.malformed += 1
            return
        if when - self._last.get(host, -math.inf) < self._interval:
            return
        self._last[host] = when
        if gpus:
            node["gpu_percent"] = max(gpus.values())
        if node:
            self._session.resource_update(host, backend=self._backend, time=when, **node)
        for gpu, percent in sorted(gpus.items()):
            self._session.resource_update(
                host, backend=self._backend, gpu_id=gpu, gpu_percent=percent, time=when
            )


def _values(points: list[Mapping[str, Any]]) -> tuple[dict[str, Any], dict[int, float]]:
    """Fields of the node, and the use of each of its GPUs."""
    node: dict[str, Any] = {}
    gpus: dict[int, float] = {}
    for point in points:
        metric, value, device = point.get("metric"), point.get("value"), point.get("device_id")
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            continue
        if not math.isfinite(value):
            continue
        if device is not None and metric == _GPU:
            gpus[int(device)] = float(value)
        elif device is None and metric in _NODE:
            node.setdefault(_NODE[metric], float(value))
        elif device is None and metric == _GPU:
            node.setdefault("gpu_percent", float(value))
    return node, gpus


def collect(queue: Any, stop: Any, interval: float = 5.0) -> None:
    """A worker for one node: puts a message on the queue every interval, until `stop` is set.

    `stop` is anything with `wait(timeout=…)`: an event of Dragon, of `threading` or of
    `multiprocessing`. The node is looked at by this library's probe.
    """
    from .._core import NodeProbe

    probe = NodeProbe()
    while True:
        queue.put(_message(probe.poll()))
        if stop.wait(timeout=interval):
            return


def _message(sample: Mapping[str, Any]) -> dict[str, Any]:
    points = [
        {"metric": metric, "value": sample[field]}
        for metric, field in _NODE.items()
        if sample.get(field) is not None
    ]
    points += [
        {"metric": _GPU, "value": gpu["gpu_percent"], "device_id": gpu["gpu_id"]}
        for gpu in sample.get("gpus", ())
        if gpu["gpu_percent"] is not None
    ]
    return {"host": socket.gethostname(), "dps": points, "ts": int(time.time())}
