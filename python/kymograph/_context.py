"""Which span is current, for kymograph and for OpenTelemetry.

A context variable of our own holds the innermost session, task or scope. If OpenTelemetry's API is
installed, its context gets a span of the same ids, so that what any instrumentation starts below
lies below. The other way round, a span of OpenTelemetry in the same trace is the parent of what is
created inside it.
"""

from __future__ import annotations

import contextvars
from typing import Any, Optional

#: The innermost of sessions, tasks and scopes that is current; ``_core`` reads it.
current: contextvars.ContextVar[Any] = contextvars.ContextVar("kymograph.current", default=None)

_opentelemetry: Any = None
_has_looked = False


class _OpenTelemetry:
    """What is used of OpenTelemetry's API."""

    def __init__(self) -> None:
        from opentelemetry import context, trace

        self.attach = context.attach
        self.detach = context.detach
        self.get_current_span = trace.get_current_span
        self.in_context = trace.set_span_in_context
        self.span = trace.NonRecordingSpan
        self.span_context = trace.SpanContext
        self.sampled = trace.TraceFlags(trace.TraceFlags.SAMPLED)


def opentelemetry() -> Optional[_OpenTelemetry]:
    """OpenTelemetry's API, if it is installed."""
    global _opentelemetry, _has_looked
    if not _has_looked:
        try:
            _opentelemetry = _OpenTelemetry()
        except ImportError:
            _opentelemetry = None
        _has_looked = True
    return _opentelemetry


class Current:
    """Makes a session, task or scope the current span, from entering to leaving."""

    __slots__ = ("_span", "_token", "_otel_token")

    def __init__(self, span: Any) -> None:
        self._span = span
        self._token: Any = None
        self._otel_token: Any = None

    def __enter__(self) -> Any:
        span = self._span
        self._token = current.set(span)
        otel = opentelemetry()
        if otel is not None:
            ids = otel.span_context(
                int(span.trace_id, 16), int(span.span_id, 16), False, otel.sampled
            )
            self._otel_token = otel.attach(otel.in_context(otel.span(ids)))
        return span

    def __exit__(self, *_exception: Any) -> None:
        token, self._token = self._token, None
        if token is None:
            return
        try:
            current.reset(token)
        except ValueError:
            # Left in another context than it was entered in, as generators that are closed late
            # are. That context is gone, and with it what was current in it.
            return
        if self._otel_token is not None and _opentelemetry is not None:
            _opentelemetry.detach(self._otel_token)


def current_span() -> Any:
    """The innermost session, task or scope that is current here; ``None`` outside of all."""
    return current.get()


def active_traceparent() -> Optional[str]:
    """The span that is current here, OpenTelemetry's or ours, as a W3C traceparent."""
    otel = opentelemetry()
    if otel is not None:
        ids = otel.get_current_span().get_span_context()
        if ids.is_valid:
            return f"00-{ids.trace_id:032x}-{ids.span_id:016x}-{ids.trace_flags:02x}"
    span = current.get()
    return None if span is None else span.traceparent


def active_span_of(trace_id: str) -> Optional[str]:
    """The id of OpenTelemetry's current span, if it lies in that trace. ``_core`` asks for it once
    an SDK is loaded: before that there are no spans but ours."""
    otel = opentelemetry()
    if otel is None:
        return None
    ids = otel.get_current_span().get_span_context()
    return f"{ids.span_id:016x}" if ids.is_valid and f"{ids.trace_id:032x}" == trace_id else None
