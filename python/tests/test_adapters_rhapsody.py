"""Real rhapsody-py on this library: its reader functions give the answers that its own do."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

pytest.importorskip("rhapsody")

from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from rhapsody.telemetry.interfaces import TelemetryReader
from rhapsody_helpers import (
    SESSION,
    Ours,
    Theirs,
    described_metrics,
    described_spans,
    feed,
    work,
)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The events of a real session on RHAPSODY's own telemetry."""
    events: list[Any] = []
    directory = tmp_path_factory.mktemp("theirs")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(directory)
        asyncio.run(work({}, lambda telemetry: telemetry.subscribe(events.append)))
    own = {"SessionStarted", "SessionEnded"}
    events = [event for event in events if event.event_type not in own]
    kinds = {event.event_type for event in events}
    assert {"TaskCreated", "TaskFailed", "TaskCanceled", "ResourceUpdate", "myapp.Score"} <= kinds
    return events


@pytest.fixture(scope="module")
def both(recorded, tmp_path_factory):
    def run(kind: Any, **options: Any) -> Any:
        directory = str(tmp_path_factory.mktemp("out"))
        manager = kind(SESSION, checkpoint_path=directory, **options)
        return asyncio.run(feed(manager, recorded))

    return run(Theirs), run(Ours)


def test_spans_are_the_same(both):
    theirs, ours = map(described_spans, both)
    assert len(ours) == len(theirs)
    for span_theirs, span_ours in zip(theirs, ours):
        assert span_ours == span_theirs
    assert {span["name"] for span in ours} == {"session", "task", "outer", "inner"}


def test_spans_come_in_the_order_of_their_ends(both):
    theirs, ours = ([s.attributes.get("task_id") for s in m.read_traces()] for m in both)
    assert [task for task in ours if task] == [task for task in theirs if task]


def test_instruments_data_points_and_attributes_are_the_same(both):
    theirs, ours = map(described_metrics, both)
    assert set(ours) == set(theirs)
    for name, described in theirs.items():
        assert ours[name] == described, name


def test_task_spans_are_the_same(both):
    def plain(manager: Any) -> list[dict[str, Any]]:
        records = manager.task_spans()
        for record in records:
            assert record.pop("span_id").startswith("0x")
            assert record.pop("trace_id").startswith("0x")
            assert record.pop("duration_seconds") >= 0
        return records

    assert plain(both[1]) == plain(both[0])


def test_counts_and_summary_are_the_same(both):
    theirs, ours = both
    assert ours.task_count() == theirs.task_count()
    assert theirs.task_count()["running"] == 0
    summaries = theirs.summary(), ours.summary()
    for summary in summaries:
        assert summary.pop("duration_seconds") > 0
        assert set(summary.pop("duration")) == {
            "total_seconds",
            "mean_seconds",
            "min_seconds",
            "max_seconds",
        }
    assert summaries[1] == summaries[0]


def test_durations_of_the_summary_are_those_of_the_spans(both):
    ours = both[1]
    durations = [record["duration_seconds"] for record in ours.task_spans()]
    told = ours.summary()["duration"]
    assert told["total_seconds"] == pytest.approx(sum(durations), abs=1e-4)
    assert told["min_seconds"] == pytest.approx(min(durations), abs=1e-5)
    assert told["max_seconds"] == pytest.approx(max(durations), abs=1e-5)


def test_subscribers_get_the_same_events(both):
    theirs, ours = both
    own = {"SessionStarted", "SessionEnded"}
    assert [e.event_type for e in ours.seen] == [e.event_type for e in theirs.seen]
    # The very objects.
    assert [e for e in ours.seen if e.event_type not in own] == [
        e for e in theirs.seen if e.event_type not in own
    ]


def test_readers_filters_work(both):
    theirs, ours = map(TelemetryReader, both)
    task_id = both[0].task_spans()[0]["task_id"]
    for filters in ({"session_id": SESSION}, {"task_id": task_id}, {"session_id": "another"}):
        assert len(ours.read_traces(**filters)) == len(theirs.read_traces(**filters))
    assert described_metrics(ours) == described_metrics(theirs)


def test_otlp_is_the_same_but_for_the_kind(both, tmp_path):
    theirs, ours = both
    exported = []
    for manager in (theirs, ours):
        path = tmp_path / type(manager).__module__ / "out.json"
        text = manager.export_as_otlp(str(path))
        assert path.read_text() == text
        (resource,) = json.loads(text)["resourceSpans"]
        (scope,) = resource["scopeSpans"]
        keys = {attribute["key"] for attribute in resource["resource"]["attributes"]}
        spans = [
            (s["name"], s["status"], sorted(map(str, s["attributes"])), set(s), s.pop("kind"))
            for s in scope["spans"]
        ]
        exported.append((keys, scope["scope"], sorted(spans, key=lambda s: (s[0], s[2]))))
    for span_theirs, span_ours in zip(exported[0][2], exported[1][2]):
        assert span_ours[:4] == span_theirs[:4]
        assert (span_theirs[4], span_ours[4]) == (0, 1)  # SPAN_KIND_INTERNAL is 1
    assert exported[0][:2] == exported[1][:2]


def test_rhapsodys_own_file_is_written_if_asked_for(recorded, tmp_path):
    sections: list[dict[str, Any]] = []
    for kind, options in ((Theirs, {}), (Ours, {"rhapsody_jsonl": True})):
        directory = tmp_path / kind.__module__
        asyncio.run(feed(kind(SESSION, checkpoint_path=str(directory), **options), recorded))
        (file,) = directory.glob("*.telemetry.jsonl")
        by_section: dict[str, list[Any]] = {"event": [], "metric": [], "span": []}
        for line in file.read_text().splitlines():
            record = json.loads(line)
            by_section[record["section"]].append(record)
        sections.append(by_section)
    theirs, ours = sections
    own = {"SessionStarted", "SessionEnded"}
    assert len(ours["span"]) == len(theirs["span"])
    assert [list(record) for record in ours["event"]] == [
        list(record) for record in theirs["event"]
    ]

    def plain(records: list[Any]) -> list[dict[str, Any]]:
        return [
            {key: value for key, value in record.items() if key not in ("trace_id", "span_id")}
            for record in records
            if record["name"] not in own
        ]

    assert plain(ours["event"]) == plain(theirs["event"])
    spans = {record["span_id"] for record in ours["span"]}
    assert {record["span_id"] for record in ours["event"]} <= spans
    assert set(ours["span"][0]) == set(theirs["span"][0])
    (metric_theirs,), (metric_ours,) = theirs["metric"], ours["metric"]
    assert set(metric_ours) == set(metric_theirs)


def test_processors_and_readers_of_the_caller_get_everything(recorded):
    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    resource = Resource.create({"service.name": "mine", "team": "a"})
    collected: list[Any] = []

    class Collecting(InMemoryMetricReader):
        def shutdown(self, timeout_millis: float = 30_000, **kwargs: Any) -> None:
            collected.append(self.get_metrics_data())
            super().shutdown(timeout_millis, **kwargs)

    async def run() -> Any:
        manager = Ours(
            SESSION,
            span_processors=[SimpleSpanProcessor(exporter)],
            metric_readers=[reader, Collecting()],
            resource=resource,
        )
        await manager.start()
        for event in recorded:
            manager.emit(event)
        await asyncio.sleep(0.8)
        before = len(exporter.get_finished_spans())
        await manager.stop()
        return manager, before

    manager, before = asyncio.run(run())
    exported = exporter.get_finished_spans()
    assert before == 7  # while it runs, without the session
    assert {s.context.span_id for s in exported} == {
        s.context.span_id for s in manager.read_traces()
    }
    assert len(exported) == 8
    assert exported[0].resource.attributes["team"] == "a"
    assert len(collected) == 1
    names = {
        metric.name
        for resource_metrics in collected[0].resource_metrics
        for scope in resource_metrics.scope_metrics
        for metric in scope.metrics
    }
    assert "tasks_completed" in names and "kymograph_collect" not in names
