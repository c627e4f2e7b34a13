"""Processor, memory and GPUs as observable gauges, read by the core: psutil is not needed.

GPUs that are not there, or disappear, have no values; nothing is said about it.
"""

from __future__ import annotations

import os
import threading
import time
from typing import Any, Callable, Dict, Iterable, Optional

from ._core import NodeProbe

#: All gauges of one export look at the same poll.
SAME_POLL_SECONDS = 0.05


class Node:
    """The node, looked at once for all gauges of an export."""

    def __init__(self) -> None:
        self._probe = NodeProbe()
        self._lock = threading.Lock()
        # How busy processors are is counted from poll to poll.
        self._usage: Dict[str, Any] = self._probe.poll()
        self._polled = time.monotonic()

    def usage(self) -> Dict[str, Any]:
        """What it does."""
        with self._lock:
            now = time.monotonic()
            if now - self._polled > SAME_POLL_SECONDS or self._usage["cpu_percent"] is None:
                self._usage = self._probe.poll()
                self._polled = now
            return self._usage


def process_memory_bytes() -> Optional[int]:
    """Memory of this process that is in RAM."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


def observe(provider: Any, prefix: str) -> None:
    """Adds the gauges to a provider of meters."""
    from opentelemetry.metrics import Observation

    node = Node()
    meter = provider.get_meter("kymograph.resources")

    def of_node(field: str) -> Callable[[Any], Iterable[Any]]:
        def read(_options: Any) -> Iterable[Any]:
            value = node.usage()[field]
            return [] if value is None else [Observation(value)]

        return read

    def of_gpus(field: str) -> Callable[[Any], Iterable[Any]]:
        def read(_options: Any) -> Iterable[Any]:
            return [
                Observation(gpu[field], {"gpu_id": str(gpu["gpu_id"])})
                for gpu in node.usage()["gpus"]
                if gpu[field] is not None
            ]

        return read

    def of_process(_options: Any) -> Iterable[Any]:
        value = process_memory_bytes()
        return [] if value is None else [Observation(value)]

    gauges = [
        ("cpu.utilization_percent", "%", of_node("cpu_percent")),
        ("memory.used_bytes", "By", of_node("memory_used_bytes")),
        ("memory.total_bytes", "By", of_node("memory_total_bytes")),
        ("memory.utilization_percent", "%", of_node("memory_percent")),
        ("gpu.utilization_percent", "%", of_gpus("gpu_percent")),
        ("gpu.memory_used_bytes", "By", of_gpus("gpu_memory_used_bytes")),
        ("gpu.memory_total_bytes", "By", of_gpus("gpu_memory_total_bytes")),
        ("process.memory_used_bytes", "By", of_process),
    ]
    for name, unit, read in gauges:
        meter.create_observable_gauge(f"{prefix}.resource.{name}", callbacks=[read], unit=unit)
