"""Kymograph: telemetry inside a program, with nothing to install beside it.

Sessions record tasks, spans, events and resources::

    import kymograph

    with kymograph.session("train") as s:
        with s.run("epoch"):
            ...
    print(s.summary())

Services get traces, metrics and logs of Python's own OpenTelemetry SDK::

    kymograph.configure(service_name="trainer", enabled=True)

And what was recorded, here or anywhere, is asked in SQL, TraceQL or PromQL::

    kymograph.open("train.6ffa6904.kymo.jsonl").sql("SELECT name, count(*) FROM spans GROUP BY 1")
"""

from ._context import current_span
from ._core import Event, NodeProbe, OpenSpan, Task, __version__
from .configuration import configure, shutdown
from .database import Database, QueryError, open
from .events import EventKind, EventValue, define_event
from .instruments import counter, gauge, histogram, updown
from .propagation import extract, inject, share
from .records import MetricPoint, Records, Resource, Span, SpanEvent
from .session import Session, session

__all__ = [
    "Database",
    "Event",
    "EventKind",
    "EventValue",
    "MetricPoint",
    "NodeProbe",
    "OpenSpan",
    "QueryError",
    "Records",
    "Resource",
    "Session",
    "Span",
    "SpanEvent",
    "Task",
    "__version__",
    "configure",
    "counter",
    "current_span",
    "define_event",
    "extract",
    "gauge",
    "histogram",
    "inject",
    "open",
    "session",
    "share",
    "shutdown",
    "updown",
]
