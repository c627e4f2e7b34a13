"""RHAPSODY's `TelemetryManager`, on a session of this library.

What RHAPSODY does in a loop for every event (spans and data points of the SDK, a line of JSON) is
done by the core's thread, or when somebody asks. A call here is a few dictionary lookups and one
call into the core. Events as objects are only made when somebody wants them: a subscriber, an
enricher, RHAPSODY's own file.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import time as clock
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable

from rhapsody.telemetry import manager as theirs
from rhapsody.telemetry.events import BaseEvent, SessionEnded, SessionStarted, make_event

from ..._context import Current
from ...session import Session
from ...session import session as start_session
from . import ledger, spans
from .export import otlp_json
from .jsonl import RhapsodyFile
from .resources import Nodes, attach_dask
from .tasks import Tasks

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

logger = logging.getLogger(__name__)

#: How long `stop()` waits for the core, as RHAPSODY's waits for its queue.
STOP_SECONDS = 5.0
#: How often span processors get what has ended, at least.
PROCESSOR_SECONDS = 0.5
#: They get it less often when it takes long: at most this part of the time is spent on it.
PROCESSOR_SHARE = 0.05

_task_executable = theirs._task_executable
_BASE_FIELDS = frozenset(field.name for field in dataclasses.fields(BaseEvent))


class TelemetryManager(theirs.TelemetryManager):
    """A manager with RHAPSODY's interface. What is not here is inherited and works on this."""

    #: Options beyond RHAPSODY's, with their defaults.
    options: Mapping[str, Any] = {
        "rhapsody_jsonl": False,
        "keep_tasks": 100_000,
        "endpoint": None,
        "protocol": None,
        "headers": None,
    }

    def __init__(
        self,
        session_id: str,
        checkpoint_interval: float | None = None,
        checkpoint_path: str | None = None,
        span_processors: list[Any] | None = None,
        metric_readers: list[Any] | None = None,
        resource: Any = None,
        **options: Any,
    ) -> None:
        """Takes what RHAPSODY's does, and:

        :param rhapsody_jsonl: also write RHAPSODY's own file, for readers that know only that
        :param keep_tasks: of how many ended tasks spans and data points are remembered
        :param endpoint: a server to send to, with `protocol` and `headers`
        """
        super().__init__(
            session_id,
            checkpoint_interval,
            checkpoint_path,
            span_processors,
            metric_readers,
            resource,
        )
        chosen = {**self.options, **options}
        self._writes_jsonl: bool = chosen.pop("rhapsody_jsonl")
        self._keep_tasks: int = chosen.pop("keep_tasks")
        self._export: dict[str, Any] = chosen
        if set(chosen) != {"endpoint", "protocol", "headers"}:
            raise TypeError(f"unknown options: expected some of {', '.join(self.options)}")

        self._session: Session | None = None
        self._ledger = ledger.Ledger(session_id, self._keep_tasks)
        self._nodes = Nodes(self._ledger)
        self._tasks = Tasks(self._ledger, self._keep_tasks)
        self._span_attribute_extractors = self._tasks.enrichers
        self._finished: spans.FinishedSpans | None = None
        self._file: RhapsodyFile | None = None
        self._pump: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._span_tokens: list[Any] = []
        self._ended_after: float | None = None

        self._wants_events = self._writes_jsonl
        self._waiting: deque[BaseEvent] = deque()
        self._is_delivering = False
        self._custom_fields: dict[type, tuple[str, ...]] = {}
        self._handlers: dict[str, Callable[[Any], None]] = {
            "TaskCreated": self._tasks.created,
            "TaskSubmitted": self._tasks.submitted,
            "TaskQueued": self._tasks.queued,
            "TaskStarted": self._tasks.started,
            "TaskCompleted": self._tasks.ended,
            "TaskFailed": self._tasks.ended,
            "TaskCanceled": self._tasks.ended,
            "ResourceUpdate": self._resource_update,
            # The core tells its own.
            "SessionStarted": _nothing,
            "SessionEnded": _nothing,
        }

    # Beginning and end.

    async def start(self) -> None:
        """Starts the session, the instruments and the adapters of the backends."""
        from opentelemetry.sdk.resources import Resource

        resource = self._resource or Resource.create(
            {"service.name": "rhapsody", "session_id": self._session_id}
        )
        described = dict(resource.attributes)
        self._session_start_time = clock.time()
        session = start_session(
            "rhapsody",
            id=self._session_id,
            service_name=described.pop("service.name", "rhapsody"),
            backend="rhapsody",
            checkpoint=self._checkpoint_path is not None,
            directory=self._checkpoint_path or ".",
            flush_interval=min(self._checkpoint_interval or 1.0, 1.0),
            poll_interval=None,  # adapters of backends look at the nodes
            keep_spans=self._keep_tasks,
            attributes={k: v for k, v in described.items() if not _is_own(k)},
            **self._export,
        )
        self._session = session
        self._resource = resource
        self._loop = asyncio.get_running_loop()
        self._tasks.start(session)
        self._ledger.start(resource, self._extra_metric_readers)
        self._finished = spans.FinishedSpans(
            session, resource, self._tasks.routes, are_taken=bool(self._extra_span_processors)
        )
        # As RHAPSODY does, the session is the current span from here on.
        self._current = Current(session)
        self._current.__enter__()
        self._span_tokens.append(
            spans.attach(spans.LiveSpan(session.trace_id, session.span_id, session))
        )
        self._running = True
        if self._writes_jsonl and self._checkpoint_path is not None:
            self._file = RhapsodyFile(self, session, self._checkpoint_path)
            self._file.start(self._checkpoint_interval)
        if self._extra_span_processors:
            self._pump = self._loop.create_task(self._feed_processors())
        for adapter in self._adapters:
            adapter.start()
        # Subscribers that come before the loop goes on are told too, as they were by RHAPSODY.
        self._announce(
            make_event(SessionStarted, session_id=self._session_id, backend="rhapsody")
        )

    async def stop(self) -> None:
        """Ends the session: everything is written, subscribers have got all events."""
        if self._session is None or not self._running:
            return
        ended_after = clock.time() - self._session_start_time
        self.emit(
            make_event(
                SessionEnded,
                session_id=self._session_id,
                backend="rhapsody",
                duration_seconds=ended_after,
            )
        )
        self._ended_after = ended_after
        self._running = False
        for adapter in self._adapters:
            try:
                adapter.stop()
            except Exception:
                logger.exception("Adapter %s failed to stop", type(adapter).__name__)
        if self._pump is not None:
            self._pump.cancel()
        for token in reversed(self._span_tokens):
            spans.detach(token)
        self._span_tokens.clear()
        self._current.__exit__()
        if not await asyncio.to_thread(self._session.close, STOP_SECONDS):
            logger.warning("not everything was handled within %s s", STOP_SECONDS)
        self._deliver()
        if self._file is not None:
            self._file.close()
            self._file = None
        self._ledger.stop()
        self._process_ended()
        for processor in self._extra_span_processors:
            processor.shutdown()

    # Events.

    def emit(self, event: BaseEvent) -> None:
        """Takes any event, in any thread. Before the start and after the end it does nothing."""
        if not self._running:
            return
        try:
            self._handlers.get(event.event_type, self._custom)(event)
        except Exception:  # an event of another shape must not end the program
            logger.exception("Error processing telemetry event %s", event.event_type)
        if self._wants_events:
            self._announce(event)

    def subscribe(self, callback: Callable[[BaseEvent], Any]) -> None:
        """Calls back with every event, on the loop of `start()`. Coroutine functions become tasks.
        What a callback raises is logged and goes no further."""
        self._subscribers.append(callback)
        self._wants_events = True

    def register_span_enricher(self, func: Callable[[BaseEvent], dict[str, Any]]) -> None:
        """More attributes of every task's span, from its first event."""
        self._span_attribute_extractors.append(func)
        self._wants_events = True

    def annotate_current_span(self, event: BaseEvent) -> None:
        """Adds the event to the current span, of whichever tracer it is."""
        from opentelemetry import trace

        active = trace.get_current_span()
        if self._session is not None and active.get_span_context().is_valid:
            noted = {key: str(value) for key, value in event.attributes.items()}
            active.add_event(event.event_type, attributes=noted)

    @contextmanager
    def span_scope(self, name: str, attributes: dict[str, Any] | None = None) -> Iterator[Any]:
        """A span, current while the `with` lasts; tasks that are created in it lie below it."""
        if self._session is None or not self._running:
            yield None
            return
        with self._session.span(name, attributes) as span:
            token = spans.attach(spans.LiveSpan(span.trace_id, span.span_id, span))
            try:
                yield span
            finally:
                spans.detach(token)

    def attach_backend(
        self, backend: Any, *, session_id: str, backend_name: str, interval: float = 5.0
    ) -> None:
        """Finds the adapter for a backend: RHAPSODY's own, but for Dask."""
        if type(backend).__name__ == "DaskExecutionBackend":
            attach_dask(self, backend, session_id, backend_name, interval)
        else:
            super().attach_backend(
                backend, session_id=session_id, backend_name=backend_name, interval=interval
            )

    # What RHAPSODY's session calls. Without anybody who wants objects, none are made.

    def _on_task_created(self, task: dict[str, Any]) -> None:
        if self._wants_events:
            super()._on_task_created(task)
        elif self._running:
            self._tasks.begin(
                task["uid"],
                task.get("backend", ""),
                _task_executable(task),
                task.get("task_type", ""),
                clock.time(),
            )

    def _on_task_submitted(self, task: dict[str, Any]) -> None:
        if self._wants_events:
            super()._on_task_submitted(task)
        elif self._running:
            now = clock.time()
            self._tasks.submit(task["uid"], task.get("backend", ""), now, now)

    def _on_task_queued(self, task: dict[str, Any]) -> None:
        if self._wants_events:
            super()._on_task_queued(task)
        elif self._running:
            self._tasks.queue(task["uid"], clock.time())

    def _on_task_state_change(self, task: dict[str, Any], state: str) -> None:
        if self._wants_events or state not in ("RUNNING", "DONE"):
            super()._on_task_state_change(task, state)
        elif self._running:
            now = clock.time()
            task_id, backend = task["uid"], task.get("backend", "")
            executable, task_type = _task_executable(task), task.get("task_type", "")
            if state == "RUNNING":
                self._task_start_times[task_id] = now
                self._tasks.run(task_id, backend, executable, task_type, now)
            else:
                started = self._task_start_times.pop(task_id, None)
                self._tasks.complete(task_id, backend, executable, task_type, now, started)

    # Everything else that happens.

    def _resource_update(self, event: Any) -> None:
        self._nodes.update(self._session, event)

    def _custom(self, event: BaseEvent) -> None:
        fields = self._custom_fields.get(type(event))
        if fields is None:
            names = (field.name for field in dataclasses.fields(event))
            fields = self._custom_fields[type(event)] = tuple(
                name for name in names if name not in _BASE_FIELDS
            )
        values = {**event.attributes, **{name: getattr(event, name) for name in fields}}
        name = event.event_type
        self._session._emit(  # type: ignore[union-attr]
            # RHAPSODY lets classes of one's own have names without a namespace.
            name if "." in name else f"rhapsody.{name}",
            {name: value for name, value in values.items() if value is not None},
            event.task_id,
            event.backend or None,
            event.node_id,
            event.event_time,
            event.emit_time,
        )

    # Those who want to know.

    def _announce(self, event: BaseEvent) -> None:
        self._waiting.append(event)
        if self._file is not None:
            self._file.note(event)
        if not self._is_delivering and self._loop is not None:
            self._is_delivering = True
            try:
                self._loop.call_soon_threadsafe(self._deliver)
            except RuntimeError:  # the loop is closed, and nobody stopped the session
                self._waiting.clear()

    def _deliver(self) -> None:
        # What comes from now on is delivered by another call.
        self._is_delivering = False
        while self._waiting:
            event = self._waiting.popleft()
            for callback in self._subscribers:
                try:
                    if asyncio.iscoroutinefunction(callback):
                        self._loop.create_task(callback(event))  # type: ignore[union-attr]
                    else:
                        callback(event)
                except Exception:
                    logger.debug("a subscriber raised", exc_info=True)
        if self._file is not None:
            self._file.write()

    async def _feed_processors(self) -> None:
        while True:
            began = clock.monotonic()
            self._process_ended()
            took = clock.monotonic() - began
            await asyncio.sleep(max(PROCESSOR_SECONDS, took / PROCESSOR_SHARE))

    def _process_ended(self) -> None:
        if self._extra_span_processors and self._finished is not None:
            for span in self._finished.take():
                for processor in self._extra_span_processors:
                    processor.on_end(span)

    # What is known.

    @property
    def session(self) -> Session | None:
        """The session of this library; none before the start."""
        return self._session

    def read_metrics(self) -> Any:
        """All instruments as they stand, as the SDK's `MetricsData`."""
        return self._ledger.read()

    def read_traces(self) -> tuple[ReadableSpan, ...]:
        """Spans that have ended, as objects of the SDK."""
        return () if self._finished is None else self._finished.read()

    def export_as_otlp(self, path: str | None = None) -> str:
        """Spans that have ended as OTLP/JSON; also written to a file if one is named."""
        resource = dict(self._resource.attributes) if self._resource is not None else {}
        resource.setdefault("session_id", self._session_id)
        text = otlp_json(self.read_traces(), resource)
        if path is not None:
            place = Path(path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        return text

    def summary(self) -> dict[str, Any]:
        """Tasks by state, how long they took, nodes as they were last."""
        return {
            "session_id": self._session_id,
            "duration_seconds": self.session_duration(),
            "tasks": self.task_count(),
            "duration": self._tasks.durations(),
            "resources": self._nodes.as_dict(),
        }

    def task_count(self) -> dict[str, int]:
        """How many tasks were submitted, how many ended how, how many run."""
        return self._tasks.counts()

    def session_duration(self) -> float:
        """Seconds since the start, until the end."""
        if self._ended_after is not None:
            return round(self._ended_after, 6)
        if self._session_start_time:
            return round(clock.time() - self._session_start_time, 6)
        return 0.0


def _is_own(attribute: str) -> bool:
    """Whether the core says it of itself."""
    return attribute == "session_id" or attribute.startswith("telemetry.")


def _nothing(_event: Any) -> None:
    pass
