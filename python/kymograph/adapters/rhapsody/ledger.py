"""RHAPSODY's instruments: what was counted, and the SDK's own aggregation of it.

RHAPSODY labels every data point with the task, so counting through the SDK costs several
microseconds an event. Here a measurement is a tuple in a bounded list; the SDK gets them when
somebody reads. Data points are those of a real `MeterProvider`, so that any reader and any
temporality work; so does its limit of series for each instrument.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

#: What a measurement is of: the first member of each tuple, and the number of its instrument.
SUBMITTED, STARTED, COMPLETED, FAILED, CANCELED, CPU, MEMORY, GPU = range(8)

_COUNTERS = (
    ("tasks_submitted", "Total tasks submitted"),
    ("tasks_started", "Total tasks started"),
    ("tasks_completed", "Total tasks completed"),
    ("tasks_failed", "Total tasks failed"),
    ("tasks_canceled", "Total tasks canceled"),
)
_GAUGES = (
    ("node_cpu_utilization", "Node CPU utilization percent"),
    ("node_memory_utilization", "Node memory utilization percent"),
    ("node_gpu_utilization", "Node GPU utilization percent"),
)

#: Measurements of one task: submitted, started, ended.
MEASUREMENTS_OF_A_TASK = 3


class Ledger:
    """Measurements that wait, and the provider that they go to."""

    def __init__(self, session_id: str, keep_tasks: int) -> None:
        self._session_id = session_id
        self._waiting: deque[tuple[Any, ...]] = deque(maxlen=keep_tasks * MEASUREMENTS_OF_A_TASK)
        #: Takes a tuple: `(SUBMITTED, 1, backend, task_id)`, `(STARTED, 1, backend, task_id,
        #: executable, task_type)`, `(COMPLETED, ran_seconds, backend, task_id, executable,
        #: task_type, was_running)`, `(CPU, percent, backend, node_id)`.
        self.add = self._waiting.append
        self._gauges: dict[tuple[int, Any, Any], float] = {}
        self._reader: Any = None
        self._provider: Any = None

    def start(self, resource: Any, readers: Iterable[Any]) -> None:
        """Makes the provider. Readers of the caller get what :meth:`read` gives."""
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import InMemoryMetricReader

        self._reader = InMemoryMetricReader()
        self._provider = MeterProvider(metric_readers=[self._reader, *readers], resource=resource)
        meter = self._provider.get_meter("rhapsody")
        adders = [meter.create_counter(name, description=text).add for name, text in _COUNTERS]
        self._add_running = meter.create_up_down_counter(
            "tasks_running", description="Tasks currently running"
        ).add
        self._record_duration = meter.create_histogram(
            "task_duration_seconds", description="Task execution duration in seconds"
        ).record
        gauges = [
            meter.create_up_down_counter(name, description=text).add for name, text in _GAUGES
        ]
        self._adders = [*adders, *gauges]
        # An instrument that never has a value. Its callback is how the SDK says that it is about
        # to collect.
        meter.create_observable_counter("kymograph_collect", callbacks=[self._feed])

    def read(self) -> Any:
        """All instruments as they stand, as the SDK's `MetricsData`; `None` before the start."""
        return None if self._reader is None else self._reader.get_metrics_data()

    def stop(self) -> None:
        """Lets readers of the caller collect once more and end."""
        if self._provider is not None:
            self._provider.shutdown()

    def _feed(self, _options: Any) -> Iterable[Any]:
        while True:
            try:
                which, value, backend, subject, *more = self._waiting.popleft()
            except IndexError:
                return ()
            labels = {"session_id": self._session_id, "backend": backend or ""}
            if which >= CPU:
                # A gauge as an up-down counter: what is added is the difference.
                place = (which, backend, subject)
                change = value - self._gauges.get(place, 0.0)
                self._gauges[place] = value
                self._adders[which](change, {**labels, "node_id": subject})
                continue
            labels["task_id"] = subject
            if more:
                labels["executable"], labels["task_type"] = more[:2]
            self._adders[which](1, labels)
            if which == STARTED:
                self._add_running(1, labels)
            elif which != SUBMITTED:
                self._record_duration(value, labels)
                if more[2]:
                    self._add_running(-1, labels)
