"""RHAPSODY's own file, `<session>.<seconds>.telemetry.jsonl`, for what reads only that.

Sections are `event`, `metric` and `span`, fields and their order as RHAPSODY writes them. Spans are
written once, and lines reach the file with every batch of events instead of every 128 KiB.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import logging
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from rhapsody.telemetry.events import BaseEvent

if TYPE_CHECKING:
    from ...session import Session
    from .manager import TelemetryManager

logger = logging.getLogger(__name__)


class RhapsodyFile:
    """The file of one session. One that cannot be opened or written is said once and left."""

    def __init__(self, manager: TelemetryManager, session: Session, directory: str) -> None:
        self._manager = manager
        self._trace_id = hex(int(session.trace_id, 16))
        self._session_span_id = hex(int(session.span_id, 16))
        self._lines: deque[str] = deque()
        self._fields: dict[type, tuple[str, ...]] = {}
        # Of the spans that are remembered, those that are in the file.
        self._written: set[int] = set()
        self._ticker: asyncio.Task[None] | None = None
        self._out: TextIO | None = None
        place = Path(directory) / f"{session.id}.{int(time.time())}.telemetry.jsonl"
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            self._out = open(place, "w", encoding="utf-8")
        except OSError as error:
            logger.warning("cannot write %s: %s", place, error)

    def start(self, interval: float | None) -> None:
        """Writes metrics and spans every interval, if there is one."""
        if interval is not None:
            self._ticker = asyncio.get_running_loop().create_task(self._tick(interval))

    async def _tick(self, interval: float) -> None:
        while True:
            await asyncio.sleep(interval)
            self._snapshot()
            self.write()

    def note(self, event: BaseEvent) -> None:
        """Takes an event, while its task is known."""
        kind = type(event)
        names = self._fields.get(kind)
        if names is None:
            names = tuple(field.name for field in dataclasses.fields(event))
            self._fields[kind] = names
        line = {name: getattr(event, name) for name in names}
        line["trace_id"], line["span_id"] = self._ids(event)
        line["name"] = event.event_type
        line["section"] = "event"
        self._lines.append(json.dumps(line, default=str))

    def _ids(self, event: BaseEvent) -> tuple[str | None, str | None]:
        if event.task_id:
            tasks = self._manager._tasks
            known = tasks.open.get(event.task_id)
            task = known[0] if known else None
            if task is None and tasks.ended_last and tasks.ended_last[0] == event.task_id:
                task = tasks.ended_last[1]
            if task is None:
                return None, None
            return self._trace_id, hex(int(task.span_id, 16))
        return self._trace_id, self._session_span_id

    def write(self) -> None:
        """Puts what waits into the file."""
        if self._out is None or not self._lines:
            return
        try:
            while self._lines:
                self._out.write(self._lines.popleft() + "\n")
            self._out.flush()
        except OSError as error:
            logger.warning("cannot write %s any more: %s", self._out.name, error)
            self._out = None

    def close(self) -> None:
        """Writes metrics and spans a last time."""
        if self._ticker is not None:
            self._ticker.cancel()
        self._snapshot()
        self.write()
        if self._out is not None:
            self._out.close()
            self._out = None

    def _snapshot(self) -> None:
        self._lines.append(json.dumps(self._metrics(), default=str))
        spans = self._manager.read_traces()
        for span in spans:
            if span.context.span_id not in self._written:
                self._lines.append(json.dumps(_span(span), default=str))
        self._written = {span.context.span_id for span in spans}

    def _metrics(self) -> dict[str, Any]:
        line: dict[str, Any] = {"checkpoint_time": time.time()}
        metrics = self._manager.read_metrics()
        for resource in metrics.resource_metrics if metrics else ():
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    points = metric.data.data_points
                    if points and hasattr(points[0], "bucket_counts"):
                        line[f"{metric.name}_count"] = sum(point.count for point in points)
                        line[f"{metric.name}_sum"] = sum(point.sum for point in points)
                    elif points:
                        line[metric.name] = sum(point.value for point in points)
        return {**line, "section": "metric"}


def _span(span: Any) -> dict[str, Any]:
    return {
        "name": span.name,
        "span_id": hex(span.context.span_id),
        "trace_id": hex(span.context.trace_id),
        "parent_span_id": hex(span.parent.span_id) if span.parent else None,
        "start_ns": span.start_time,
        "end_ns": span.end_time,
        "start_time_s": span.start_time / 1e9,
        "end_time_s": span.end_time / 1e9,
        "duration_ms": round((span.end_time - span.start_time) / 1e6, 3),
        "status_code": span.status.status_code.name,
        "status_description": span.status.description or None,
        "attributes": dict(span.attributes),
        "section": "span",
    }
