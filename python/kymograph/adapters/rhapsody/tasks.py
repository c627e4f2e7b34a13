"""The tasks of a RHAPSODY session: from events and hooks to the core, and what is counted.

This is the way that every event of a task takes, hundreds of thousands of times a second if it must
be. So: no copies, no objects but the tuple of a measurement, and the span that a task lies in is
looked up only when the context has changed.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Callable

from opentelemetry import context, trace

from . import ledger
from .spans import LiveSpan

if TYPE_CHECKING:
    from ...session import Session, Task

logger = logging.getLogger(__name__)

_ENDS = {
    "TaskCompleted": ledger.COMPLETED,
    "TaskFailed": ledger.FAILED,
    "TaskCanceled": ledger.CANCELED,
}


class Tasks:
    """Tasks that are open, which ones have been, and how many ended how."""

    def __init__(self, counted: ledger.Ledger, keep_tasks: int) -> None:
        self._add = counted.add
        self._keep_tasks = keep_tasks
        #: Give more attributes of a task, from its first event.
        self.enrichers: list[Callable[[Any], dict[str, Any]]] = []
        #: Tasks that have not ended: the core's task, and when it began.
        self.open: dict[str, tuple[Task, float]] = {}
        #: The id and the core's task of the one that ended last.
        self.ended_last: tuple[str, Task] | None = None
        #: The backend that a task was created with; of ended ones too, so it tells which have been.
        self.routes: dict[str, Any] = {}
        self.submitted_count = 0
        self.end_counts = {ledger.COMPLETED: 0, ledger.FAILED: 0, ledger.CANCELED: 0}
        self.running: set[str] = set()
        self._durations = 0
        self._total_seconds = 0.0
        self._least_seconds = float("inf")
        self._most_seconds = 0.0

    def start(self, session: Session) -> None:
        """From here on there is a session."""
        self._session = session
        self._create = session.create_task
        self._emit = session._emit
        self._trace_number = int(session.trace_id, 16)
        self._context: Any = None
        self._parent: Any = session

    # From the hooks of RHAPSODY's session.

    def begin(
        self,
        task_id: str,
        backend: Any,
        executable: str,
        task_type: str,
        time: float,
        more: dict[str, Any] | None = None,
    ) -> tuple[Task, float]:
        """A task is created."""
        now = context.get_current()
        if now is not self._context:
            self._context = now
            self._parent = self._span_of(now)
        task = self._create(
            "task",
            id=task_id,
            backend=backend or None,
            executable=executable,
            task_type=task_type,
            attributes=more,
            parent=self._parent,
            time=time,
        )
        known = self.open[task_id] = (task, time)
        routes = self.routes
        routes[task_id] = backend
        if len(routes) > self._keep_tasks:
            del routes[next(iter(routes))]
        return known

    def submit(self, task_id: str, backend: Any, time: float, emit_time: float) -> None:
        """It is handed over; often only now it is known to which backend."""
        self.submitted_count += 1
        self._add((ledger.SUBMITTED, 1, backend, task_id))
        known = self.open.get(task_id)
        if known is None:
            return
        if self.routes.get(task_id) == backend:
            known[0].submitted(time)
        else:
            self._emit("TaskSubmitted", {}, task_id, backend or None, None, time, emit_time)

    def queue(self, task_id: str, time: float) -> None:
        """It waits for a place."""
        known = self.open.get(task_id)
        if known is not None:
            known[0].queued(time)

    def run(
        self, task_id: str, backend: Any, executable: str, task_type: str, time: float
    ) -> None:
        """It runs."""
        known = self.open.get(task_id) or self._learn(
            task_id, backend, executable, task_type, time
        )
        if known is not None:
            known[0].started(None, time)
            self._count_start(backend, task_id, executable, task_type)

    def complete(
        self,
        task_id: str,
        backend: Any,
        executable: str,
        task_type: str,
        time: float,
        started: float | None,
    ) -> None:
        """It has ended well, and ran since then."""
        known = self.open.pop(task_id, None) or self._learn(
            task_id, backend, executable, task_type, time
        )
        if known is not None:
            known[0].completed(time)
            ran = 0.0 if started is None else max(time - started, 0.0)
            labels = (backend, task_id, executable, task_type)
            self._count_end(ledger.COMPLETED, labels, time - known[1], ran, started is None)

    # From events.

    def created(self, event: Any) -> None:
        """`TaskCreated`."""
        attributes = event.attributes
        self.begin(
            event.task_id,
            event.backend,
            attributes.get("executable", ""),
            attributes.get("task_type", ""),
            event.event_time,
            self._enriched(event) if self.enrichers else None,
        )

    def submitted(self, event: Any) -> None:
        """`TaskSubmitted`."""
        self.submit(event.task_id, event.backend, event.event_time, event.emit_time)

    def queued(self, event: Any) -> None:
        """`TaskQueued`."""
        self.queue(event.task_id, event.event_time)

    def started(self, event: Any) -> None:
        """`TaskStarted`."""
        task_id, attributes = event.task_id, event.attributes
        executable = attributes.get("executable", "")
        task_type = attributes.get("task_type", "")
        known = self.open.get(task_id) or self._learn(
            task_id, event.backend, executable, task_type, event.event_time, event
        )
        if known is not None:
            known[0].started(event.node_id, event.event_time)
            self._count_start(event.backend, task_id, executable, task_type)

    def ended(self, event: Any) -> None:
        """`TaskCompleted`, `TaskFailed`, `TaskCanceled`, with the durations that they tell."""
        task_id, attributes, kind = event.task_id, event.attributes, event.event_type
        executable = attributes.get("executable", "")
        task_type = attributes.get("task_type", "")
        time = event.event_time
        known = self.open.pop(task_id, None) or self._learn(
            task_id, event.backend, executable, task_type, time
        )
        if known is None:
            return
        ran = event.duration_seconds
        fields = {"duration_seconds": ran}
        if kind == "TaskFailed":
            fields["error_type"] = attributes.get("error_type", event.error_type)
        self._emit(kind, fields, task_id, None, None, time, event.emit_time)
        self.ended_last = (task_id, known[0])
        self._count_end(
            _ENDS[kind],
            (event.backend, task_id, executable, task_type),
            time - known[1],
            ran,
            "incomplete_lifecycle" in attributes,
        )

    # What is known.

    def counts(self) -> dict[str, int]:
        """As `task_count()` has it."""
        return {
            "submitted": self.submitted_count,
            "completed": self.end_counts[ledger.COMPLETED],
            "failed": self.end_counts[ledger.FAILED],
            "canceled": self.end_counts[ledger.CANCELED],
            "running": len(self.running),
        }

    def durations(self) -> dict[str, float]:
        """From first to last event of each task that started and ended, as `summary()` has it."""
        if not self._durations:
            return {}
        return {
            "total_seconds": round(self._total_seconds, 6),
            "mean_seconds": round(self._total_seconds / self._durations, 6),
            "min_seconds": round(self._least_seconds, 6),
            "max_seconds": round(self._most_seconds, 6),
        }

    # Within.

    def _learn(
        self,
        task_id: str,
        backend: Any,
        executable: str,
        task_type: str,
        time: float,
        event: Any = None,
    ) -> tuple[Task, float] | None:
        """A task whose creation nobody told. One that has ended stays as it is."""
        if task_id in self.routes:
            return None
        more = self._enriched(event) if event is not None and self.enrichers else None
        return self.begin(task_id, backend, executable, task_type, time, more)

    def _count_start(self, backend: Any, task_id: str, executable: str, task_type: str) -> None:
        if task_id not in self.running:
            self.running.add(task_id)
            self._add((ledger.STARTED, 1, backend, task_id, executable, task_type))

    def _count_end(
        self,
        kind: int,
        labels: tuple[Any, ...],
        lasted_seconds: float,
        ran_seconds: float,
        is_incomplete: bool,
    ) -> None:
        self.end_counts[kind] += 1
        task_id = labels[1]
        self.open.pop(task_id, None)  # where it was learned of by its end
        was_running = task_id in self.running
        if was_running:
            self.running.remove(task_id)
        self._add((kind, ran_seconds, *labels, was_running))
        if not is_incomplete:
            self._durations += 1
            self._total_seconds += lasted_seconds
            if lasted_seconds < self._least_seconds:
                self._least_seconds = max(lasted_seconds, 0.0)
            if lasted_seconds > self._most_seconds:
                self._most_seconds = lasted_seconds

    def _span_of(self, now: Any) -> Any:
        """The span that tasks of a context lie in: the current one, if it is of this trace."""
        span = trace.get_current_span(now)
        ids = span.get_span_context()
        if not ids.is_valid or ids.trace_id != self._trace_number:
            return self._session
        return span.core if isinstance(span, LiveSpan) else f"{ids.span_id:016x}"

    def _enriched(self, event: Any) -> dict[str, Any]:
        more: dict[str, Any] = {}
        for enrich in self.enrichers:
            try:
                more.update(enrich(event))
            except Exception:
                logger.debug("span enricher failed", exc_info=True)
        return more
