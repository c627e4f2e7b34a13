"""The core's spans as objects of OpenTelemetry's SDK, with RHAPSODY's names and attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from opentelemetry import trace
from opentelemetry.attributes import BoundedAttributes
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import NonRecordingSpan, SpanContext, Status, StatusCode, TraceFlags

if TYPE_CHECKING:
    from ...session import Session

_SCOPE = InstrumentationScope("rhapsody", "", "")
_SAMPLED = TraceFlags(TraceFlags.SAMPLED)
#: States that RHAPSODY has no span events for.
_NOT_THERE = frozenset(("TaskSubmitted", "TaskStarted"))


class FinishedSpans:
    """Spans that have ended, each made once."""

    def __init__(
        self, session: Session, resource: Any, routes: Mapping[str, Any], *, are_taken: bool
    ) -> None:
        """`routes` has the backend that each task had when it was created: the span keeps it. If
        they `are_taken`, new ones are held until somebody does."""
        self._session = session
        self._resource = resource
        self._routes = routes
        self._are_taken = are_taken
        self._made: dict[str, ReadableSpan | None] = {}
        self._new: list[ReadableSpan] = []

    def read(self) -> tuple[ReadableSpan, ...]:
        """All that are remembered, in the order of their ends."""
        self._update()
        return tuple(span for span in self._made.values() if span is not None)

    def take(self) -> list[ReadableSpan]:
        """Those that have ended since this was last asked."""
        self._update()
        new, self._new = self._new, []
        return new

    def _update(self) -> None:
        known, self._made = self._made, {}
        for members in self._session._spans():
            span_id = members[2]
            if span_id in known:
                self._made[span_id] = known[span_id]
                continue
            span = self._made[span_id] = self._make(*members)
            if self._are_taken and span is not None:
                self._new.append(span)

    def _make(
        self,
        name: str,
        trace_id: str,
        span_id: str,
        parent_id: str | None,
        start_nanos: int,
        end_nanos: int,
        status: str,
        message: str,
        attributes: dict[str, Any],
        events: Sequence[tuple[str, float, dict[str, Any]]],
    ) -> ReadableSpan | None:
        session_id = self._session.id
        task_id = attributes.get("task_id") if name == "task" else None
        if task_id is not None:
            if attributes.get("status") == "unfinished":  # RHAPSODY has no span of it
                return None
            attributes = {
                "session_id": session_id,
                **attributes,
                "backend": self._routes.get(task_id) or "",
            }
        elif span_id == self._session.span_id:
            attributes = {"session_id": session_id, "backend": "rhapsody"}
        trace_number = int(trace_id, 16)
        return ReadableSpan(
            name,
            context=_context(trace_number, span_id),
            parent=None if parent_id is None else _context(trace_number, parent_id),
            resource=self._resource,
            attributes=BoundedAttributes(attributes=attributes),
            events=tuple(
                Event(
                    event,
                    {"task_id": task_id} if task_id and event == "TaskQueued" else noted,
                    int(time * 1e9),
                )
                for event, time, noted in events
                if not (task_id and event in _NOT_THERE)
            ),
            status=_status(status, message),
            start_time=start_nanos,
            end_time=end_nanos,
            instrumentation_scope=_SCOPE,
        )


def _context(trace_id: int, span_id: str) -> SpanContext:
    return SpanContext(trace_id, int(span_id, 16), is_remote=False, trace_flags=_SAMPLED)


def _status(status: str, message: str) -> Status:
    if status == "ok":
        return Status(StatusCode.OK)
    if status == "error":
        return Status(StatusCode.ERROR, None if message == "canceled" else message)
    return Status(StatusCode.UNSET)


class LiveSpan(NonRecordingSpan):
    """A span of the core that is still open, as OpenTelemetry's current span.

    So `opentelemetry.trace.get_current_span()` works inside a scope as it does with RHAPSODY.
    """

    def __init__(self, trace_id: str, span_id: str, core: Any) -> None:
        """`core` has `annotate` and, if it can take attributes, `set_attributes`."""
        super().__init__(_context(int(trace_id, 16), span_id))
        #: What it is in the core.
        self.core = core

    def is_recording(self) -> bool:
        return True

    def add_event(self, name: str, attributes: Any = None, timestamp: int | None = None) -> None:
        self.core.annotate(name, dict(attributes or {}))

    def set_attribute(self, key: str, value: Any) -> None:
        self.set_attributes({key: value})

    def set_attributes(self, attributes: Mapping[str, Any]) -> None:
        set_attributes = getattr(self.core, "set_attributes", None)
        if set_attributes is not None:
            set_attributes(dict(attributes))


def attach(span: LiveSpan) -> Any:
    """Makes it the current span; gives what :func:`detach` needs."""
    from opentelemetry import context

    return context.attach(trace.set_span_in_context(span))


def detach(token: Any) -> None:
    """Undoes :func:`attach`."""
    from opentelemetry import context

    context.detach(token)
