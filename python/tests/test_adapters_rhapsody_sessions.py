"""Sessions of real rhapsody-py with this library installed in them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("rhapsody")

from conftest import events_of, lines, spans_of
from rhapsody import ComputeTask, Session
from rhapsody.backends import ConcurrentExecutionBackend
from rhapsody_helpers import (
    SESSION,
    Ours,
    Theirs,
    described_metrics,
    double,
    work,
)

import kymograph.adapters.rhapsody as drop_in


@pytest.fixture
def installed():
    yield drop_in.install()
    drop_in.uninstall()


def test_a_real_session_runs_on_this_library(installed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    seen: list[str] = []
    seen_async: list[str] = []

    async def on_event(event: Any) -> None:
        seen_async.append(event.event_type)

    def use(telemetry: Any) -> None:
        assert isinstance(telemetry, Ours)
        telemetry.subscribe(lambda event: seen.append(event.event_type))
        telemetry.subscribe(on_event)
        telemetry.subscribe(lambda event: 1 / 0)
        telemetry.register_span_enricher(lambda event: {"workflow": "wf-1"})
        telemetry.register_span_enricher(lambda event: 1 / 0)

    telemetry = asyncio.run(work({"checkpoint_path": "out"}, use))
    assert telemetry.task_count() == {
        "submitted": 7,
        "completed": 4,
        "failed": 2,
        "canceled": 1,
        "running": 0,
    }
    assert seen[0] == "SessionStarted" and seen[-1] == "SessionEnded"
    assert seen.count("TaskCreated") == 7 and seen.count("myapp.Score") == 1
    assert "ResourceUpdate" in seen and set(seen) - set(seen_async) <= {"SessionEnded"}
    spans = telemetry.read_traces()
    session = next(span for span in spans if span.name == "session")
    scope = next(span for span in spans if span.name == "preprocess")
    tasks = [span for span in spans if span.name == "task"]
    assert [(event.name, dict(event.attributes)) for event in scope.events] == [
        ("myapp.Score", {"rows": "3"})
    ]
    assert sum(task.parent.span_id == scope.context.span_id for task in tasks) == 5
    assert sum(task.parent.span_id == session.context.span_id for task in tasks) == 2
    assert all(task.attributes["workflow"] == "wf-1" for task in tasks)
    failed = {t.attributes["error_type"] for t in tasks if t.attributes["status"] == "failed"}
    assert "RuntimeError" in failed
    assert telemetry.session_duration() == telemetry.summary()["duration_seconds"] > 0.3

    path = telemetry.session.path
    head = lines(path)[0]
    assert head["kymo"] == "checkpoint" and head["session_id"] == telemetry.session_id
    events = events_of(path)
    names = [event["eventName"] for event in events]
    assert names.count("TaskCompleted") == 4 and names.count("myapp.Score") == 1
    submitted = [e for e in events if e["eventName"] == "TaskSubmitted"]
    assert {event["attributes"]["backend"] for event in submitted} == {"concurrent"}
    written = {span["spanId"] for span in spans_of(path)}
    assert written == {f"{span.context.span_id:016x}" for span in spans}


def test_without_subscribers_no_event_objects_are_made_and_answers_are_the_same(
    installed, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    made: list[Any] = []
    import rhapsody.telemetry.manager as theirs

    real = theirs.make_event
    monkeypatch.setattr(theirs, "make_event", lambda *a, **k: made.append(a) or real(*a, **k))
    telemetry = asyncio.run(work({}))
    # Failures and cancellations are rare, and take the common way.
    assert len(made) == 3
    assert telemetry.task_count()["completed"] == 4
    assert telemetry.session.path is None
    metrics = described_metrics(telemetry)
    assert len(metrics["tasks_started"][3]) == 7
    assert len(metrics["task_duration_seconds"][3]) == 7


def test_with_dask_the_workers_are_seen(installed, tmp_path, monkeypatch):
    from rhapsody.backends.execution.dask_parallel import DaskExecutionBackend

    monkeypatch.chdir(tmp_path)

    async def run() -> Any:
        backend = await DaskExecutionBackend(
            {"n_workers": 1, "threads_per_worker": 2, "dashboard_address": None, "processes": False}
        )
        session = Session(backends=[backend])
        telemetry = await session.start_telemetry(resource_poll_interval=0.2)
        tasks = [ComputeTask(function=double, args=(n,)) for n in range(4)]
        await session.submit_tasks(tasks)
        await session.wait_tasks(tasks, timeout=30)
        for _ in range(100):
            known = telemetry.summary()["resources"].values()
            if any(node["net_sent_bytes"] is not None for node in known):
                break
            await asyncio.sleep(0.1)
        await session.close()
        return telemetry

    telemetry = asyncio.run(run())
    assert telemetry.task_count()["completed"] == 4
    (node,) = telemetry.summary()["resources"].values()
    assert node["backend"] == "dask"
    assert node["cpu_percent"] >= 0 and 0 < node["memory_percent"] < 100
    assert node["disk_read_bytes"] >= 0 and node["net_sent_bytes"] >= 0
    assert set(described_metrics(telemetry)) >= {"node_cpu_utilization", "tasks_completed"}


def test_a_backend_can_be_added_while_telemetry_runs(installed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    async def run() -> Any:
        session = Session(uid=SESSION)
        telemetry = await session.start_telemetry(resource_poll_interval=0.1)
        session.add_backend(await ConcurrentExecutionBackend())
        for _ in range(100):
            if telemetry.summary()["resources"]:
                break
            await asyncio.sleep(0.05)
        await session.close()
        return telemetry

    (node,) = asyncio.run(run()).summary()["resources"].values()
    assert node["backend"] == "concurrent"


def test_uninstalling_gives_rhapsody_its_own_back():
    import rhapsody.telemetry.manager as theirs

    before = set(vars(Session))
    drop_in.install(keep_tasks=10)
    assert theirs.TelemetryManager.options["keep_tasks"] == 10
    drop_in.uninstall()
    assert theirs.TelemetryManager is Theirs and set(vars(Session)) == before


def test_unknown_options_are_refused():
    with pytest.raises(TypeError, match="expected some of rhapsody_jsonl"):
        drop_in.install(jsonl=True)
    with pytest.raises(TypeError, match="expected some of rhapsody_jsonl"):
        Ours(SESSION, jsonl=True)
