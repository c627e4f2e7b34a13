"""The manager in place of RHAPSODY's: odd lives of tasks, bounds, what differs on purpose."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

pytest.importorskip("rhapsody")

from rhapsody.telemetry.events import (
    ResourceUpdate,
    TaskCanceled,
    TaskCompleted,
    TaskCreated,
    TaskFailed,
    TaskStarted,
    TaskSubmitted,
    make_event,
)
from rhapsody_helpers import (
    SESSION,
    Ours,
    Theirs,
    described_metrics,
    lifecycle,
    running,
)


def test_running_does_not_fall_below_zero():
    events = lifecycle("t1", TaskCreated, TaskSubmitted, TaskCanceled)
    assert asyncio.run(running(Theirs, events)).task_count()["running"] == -1
    ours = asyncio.run(running(Ours, events))
    assert ours.task_count()["running"] == 0
    assert "tasks_running" not in described_metrics(ours)
    (record,) = ours.task_spans()
    assert record["status"] == "canceled" and record["incomplete_lifecycle"]


def test_a_task_that_ends_twice_counts_once():
    events = lifecycle("t1", TaskCreated, TaskStarted, TaskCompleted, TaskFailed)
    ours = asyncio.run(running(Ours, events))
    assert ours.task_count() == {
        "submitted": 0,
        "completed": 1,
        "failed": 0,
        "canceled": 0,
        "running": 0,
    }
    assert [record["status"] for record in ours.task_spans()] == ["completed"]


def test_a_task_that_begins_with_its_end_has_a_span():
    for kind in (Theirs, Ours):
        manager = asyncio.run(running(kind, lifecycle("t1", TaskCompleted)))
        (record,) = manager.task_spans()
        assert (record["task_id"], record["backend"], record["status"]) == ("t1", "b", "completed")


def test_a_task_that_does_not_end_has_no_span():
    for kind in (Theirs, Ours):
        manager = asyncio.run(running(kind, lifecycle("t1", TaskCreated, TaskStarted)))
        assert manager.task_spans() == []
        assert manager.task_count()["running"] == 1


def test_an_update_of_a_gpu_leaves_its_node_alone():
    common = {"session_id": SESSION, "backend": "b", "node_id": "n1"}
    node = make_event(ResourceUpdate, cpu_percent=10.0, gpu_percent=90.0, **common)
    gpu = make_event(ResourceUpdate, gpu_id=0, gpu_percent=30.0, **common)
    theirs = asyncio.run(running(Theirs, [node, gpu]))
    assert theirs.summary()["resources"]["b/n1"]["cpu_percent"] is None
    ours = asyncio.run(running(Ours, [node, gpu]))
    told = ours.summary()["resources"]["b/n1"]
    assert (told["cpu_percent"], told["gpu_percent"]) == (10.0, 90.0)
    points = described_metrics(ours)["node_gpu_utilization"][3]
    assert list(points.values()) == [90.0]
    gpus = [one for one in ours.session.resources() if one.gpu_id == 0]
    assert gpus[0].values["gpu_percent"] == 30.0


def test_the_oldest_tasks_are_forgotten_and_still_counted():
    events = [
        event
        for n in range(30)
        for event in lifecycle(f"t{n}", TaskCreated, TaskSubmitted, TaskStarted, TaskCompleted)
    ]
    ours = asyncio.run(running(Ours, events, keep_tasks=10))
    assert ours.task_count()["completed"] == 30
    assert len(ours.task_spans()) <= 10
    assert ours.task_spans()[-1]["task_id"] == "t29"


def test_a_span_of_another_tracer_is_the_parent_of_the_session():
    from opentelemetry.sdk.trace import TracerProvider

    async def run() -> Any:
        with TracerProvider().get_tracer("other").start_as_current_span("request") as outside:
            manager = await running(Ours, lifecycle("t1", TaskCreated, TaskCompleted))
            return manager, outside.get_span_context()

    manager, outside = asyncio.run(run())
    session = next(span for span in manager.read_traces() if span.name == "session")
    assert session.context.trace_id == outside.trace_id
    assert session.parent.span_id == outside.span_id


def test_before_the_start_and_after_the_end_nothing_happens():
    async def run() -> Any:
        manager = Ours(SESSION)
        (event,) = lifecycle("t1", TaskCreated)
        manager.emit(event)
        with manager.span_scope("early"):
            pass
        assert manager.read_metrics() is None and manager.read_traces() == ()
        await manager.stop()
        await manager.start()
        await manager.stop()
        await manager.stop()
        manager.emit(event)
        with manager.span_scope("late"):
            pass
        return manager

    manager = asyncio.run(run())
    assert [span.name for span in manager.read_traces()] == ["session"]
    assert manager.task_count()["submitted"] == 0


def test_it_is_many_times_faster():
    """The real ratio is in bench/README.md; this fails if the way of an event gets long."""

    def seconds(kind: Any) -> float:
        async def run() -> float:
            manager = kind(SESSION)
            await manager.start()
            begin = time.perf_counter()
            for event in events:
                manager.emit(event)
            await manager.stop()
            return time.perf_counter() - begin

        return min(asyncio.run(run()) for _ in range(3))

    kinds = (TaskCreated, TaskSubmitted, TaskStarted, TaskCompleted)
    events = [event for n in range(2000) for event in lifecycle(f"t{n}", *kinds)]
    assert seconds(Theirs) / seconds(Ours) > 5
