"""What tests with real rhapsody-py share: work for it, and its answers without ids and times."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from typing import Any, Callable

import pytest

pytest.importorskip("rhapsody")

from opentelemetry import trace
from rhapsody import ComputeTask, Session
from rhapsody.backends import ConcurrentExecutionBackend
from rhapsody.telemetry import define_event
from rhapsody.telemetry.events import make_event
from rhapsody.telemetry.interfaces import TelemetrySubscriber

import kymograph.adapters.rhapsody as drop_in

Theirs = drop_in._original
Ours = drop_in.TelemetryManager

#: The id of every session here: it is in the recorded events, too.
SESSION = "rhapsody.session.test"

Score = define_event("myapp.Score", score=float, label=(str, "unknown"))


async def double(x: int) -> int:
    await asyncio.sleep(0.01)
    return 2 * x


async def fail() -> None:
    raise RuntimeError("boom")


async def wait_long() -> None:
    await asyncio.sleep(1)


async def work(telemetry_options: dict[str, Any], use: Callable[[Any], None] | None = None) -> Any:
    """A session of RHAPSODY with tasks that end in every way; gives its telemetry."""
    backend = await ConcurrentExecutionBackend()
    session = Session(backends=[backend], uid=SESSION)
    telemetry = await session.start_telemetry(resource_poll_interval=0.2, **telemetry_options)
    if use is not None:
        use(telemetry)
    first = [ComputeTask(function=double, args=(n,)) for n in range(3)]
    first += [ComputeTask(executable="/bin/true"), ComputeTask(executable="/bin/false")]
    with telemetry.span_scope("preprocess", {"dataset": "small"}):
        await session.submit_tasks(first)
        note = make_event(
            Score, session_id=telemetry.session_id, backend="app", attributes={"rows": 3}
        )
        telemetry.annotate_current_span(note)
    await session.wait_tasks(first)
    second = [ComputeTask(function=fail), ComputeTask(function=wait_long)]
    await session.submit_tasks(second)
    await asyncio.sleep(0.1)
    await backend.cancel_task(second[1]["uid"])
    await session.wait_tasks(second, timeout=10)
    telemetry.emit(
        make_event(Score, session_id=telemetry.session_id, backend="app", score=0.5, label="a")
    )
    await asyncio.sleep(0.3)
    await session.close()
    return telemetry


async def feed(manager: Any, events: list[Any]) -> Any:
    """Gives a manager the same events in the same circumstances."""
    seen: list[Any] = []
    manager.register_span_enricher(lambda event: {"workflow": f"of {event.task_id}"})
    await manager.start()
    TelemetrySubscriber(manager).subscribe(seen.append)
    created = [event for event in events if event.event_type == "TaskCreated"]
    inside = {event.task_id for event in created[: len(created) // 2]}
    for event in events:
        with ExitStack() as stack:
            if event.event_type == "TaskCreated" and event.task_id in inside:
                stack.enter_context(manager.span_scope("outer", {"n": 1, "tags": ["a", "b"]}))
                stack.enter_context(manager.span_scope("inner"))
                manager.annotate_current_span(event)
                trace.get_current_span().set_attribute("set", "later")
            manager.emit(event)
    await asyncio.sleep(0.1)
    await manager.stop()
    manager.seen = seen
    return manager


def described_spans(manager: Any) -> list[dict[str, Any]]:
    """Spans without ids and times, but with what they lie in."""
    spans = manager.read_traces()
    names = {span.context.span_id: span.name for span in spans}
    assert len({span.context.trace_id for span in spans}) == 1
    assert len(names) == len(spans)
    described = [
        {
            "name": span.name,
            "parent": span.parent and names[span.parent.span_id],
            "kind": span.kind,
            "status": (span.status.status_code, span.status.description),
            "attributes": dict(span.attributes),
            "events": [(event.name, dict(event.attributes)) for event in span.events],
            "links": list(span.links),
            "scope": (span.instrumentation_scope.name, span.instrumentation_scope.version),
            "resource": {
                key: value
                for key, value in span.resource.attributes.items()
                if key != "service.instance.id"
            },
            "is_over": span.start_time <= span.end_time,
        }
        for span in spans
    ]
    return sorted(described, key=lambda span: (span["name"], span["attributes"].get("task_id", "")))


def described_metrics(manager: Any) -> dict[str, Any]:
    """Instruments without times."""
    described = {}
    (resource,) = manager.read_metrics().resource_metrics
    (scope,) = resource.scope_metrics
    assert scope.scope.name == "rhapsody"
    for metric in scope.metrics:
        points = {}
        for point in metric.data.data_points:
            values = (
                (point.count, pytest.approx(point.sum), point.min, point.max)
                + (tuple(point.bucket_counts), tuple(point.explicit_bounds))
                if hasattr(point, "bucket_counts")
                else pytest.approx(point.value)
            )
            points[tuple(sorted(point.attributes.items()))] = values
        kind = (
            type(metric.data).__name__,
            getattr(metric.data, "is_monotonic", None),
            metric.data.aggregation_temporality,
        )
        described[metric.name] = (metric.description, metric.unit, kind, points)
    return described


def lifecycle(task_id: str, *kinds: Any) -> list[Any]:
    attributes = {"executable": "/bin/x", "task_type": "ComputeTask"}
    common = {"session_id": SESSION, "backend": "b", "task_id": task_id, "attributes": attributes}
    return [make_event(kind, **common) for kind in kinds]


async def running(kind: Any, events: list[Any], **options: Any) -> Any:
    manager = kind(SESSION, **options)
    await manager.start()
    for event in events:
        manager.emit(event)
    await manager.stop()
    return manager
