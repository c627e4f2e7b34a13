"""kymograph.open(): SQL, TraceQL and PromQL on files, directories and servers."""

import json
import subprocess

import pytest

pyarrow = pytest.importorskip("pyarrow")

from kymo_program import KYMO, Server, needs_kymo  # noqa: E402

import kymograph  # noqa: E402


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    directory = tmp_path_factory.mktemp("checkpoint")
    with kymograph.session("train", directory=directory, poll_interval=None) as s:
        for n in range(10):
            with s.run("epoch", backend="b", attributes={"n": n}):
                pass
        with pytest.raises(ValueError):
            with s.run("bad"):
                raise ValueError("no")
    return s


@needs_kymo
def test_a_checkpoint_is_asked_in_all_languages(checkpoint):
    with kymograph.open(checkpoint.path) as db:
        rows = db.sql("SELECT name, count(*) AS n FROM spans GROUP BY name ORDER BY name")
        assert rows.to_pylist() == [
            {"name": "bad", "n": 1},
            {"name": "epoch", "n": 10},
            {"name": "session", "n": 1},
        ]
        spans = db.traceql('{ span.task_id != nil && name = "epoch" }')
        assert spans.num_rows == 10
        assert set(spans.column("name").to_pylist()) == {"epoch"}
        traces = db.traceql("{ status = error }", traces=True)
        assert [value.hex() for value in traces.column("trace_id").to_pylist()] == [
            checkpoint.trace_id
        ]
        rates = db.traceql("{ } | count_over_time() by (name)", since="1h", instant=True)
        assert sum(rates.column("value").to_pylist()) == 12
        points = db.promql("sum(tasks_completed_total) or sum(tasks_completed)")
        assert points.column("value").to_pylist() == [10.0]
        assert pyarrow.types.is_timestamp(points.schema.field("time").type)
        over_time = db.promql("vector(1)", since="10m", step="1m")
        assert over_time.num_rows == 11


@needs_kymo
def test_a_growing_checkpoint_is_read_as_far_as_it_is(session):
    session.create_task("a").completed()
    session.flush()
    with kymograph.open(session.path) as db:
        assert db.sql("SELECT count(*) FROM spans").to_pydict() == {"count(*)": [1]}


@needs_kymo
def test_what_rhapsody_wrote_is_read(tmp_path):
    def ids(n):
        return {"trace_id": "0x" + "a" * 31, "span_id": hex(n)}

    records = [
        {
            "event_id": "e1",
            "event_type": "TaskCreated",
            "event_time": 1_790_000_000.0,
            "emit_time": 1_790_000_000.0,
            "session_id": "s",
            "backend": None,
            "task_id": "t1",
            "node_id": None,
            "attributes": {"executable": "f"},
            **ids(7),
            "name": "TaskCreated",
            "section": "event",
        },
        {
            "name": "task",
            **ids(7),
            "parent_span_id": None,
            "start_ns": 1_790_000_000_000_000_000,
            "end_ns": 1_790_000_001_000_000_000,
            "start_time_s": 1_790_000_000.0,
            "end_time_s": 1_790_000_001.0,
            "duration_ms": 1000.0,
            "status_code": "OK",
            "status_description": None,
            "attributes": {"task_id": "t1"},
            "section": "span",
        },
    ]
    file = tmp_path / "s.1.telemetry.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records) + '{"cut')
    with kymograph.open(file) as db:
        (row,) = db.sql("SELECT name, duration_nanos, span.task_id AS task FROM spans").to_pylist()
        assert row == {"name": "task", "duration_nanos": 1_000_000_000, "task": "t1"}


@needs_kymo
def test_questions_that_are_wrong_are_refused_in_the_words_of_kymo(checkpoint):
    with kymograph.open(checkpoint.path) as db:
        with pytest.raises(kymograph.QueryError, match="nothing_such"):
            db.sql("SELECT * FROM nothing_such")
        with pytest.raises(kymograph.QueryError, match="(?s)line 1|expected|unexpected"):
            db.traceql("{ status = ")
        with pytest.raises(kymograph.QueryError, match="parse error"):
            db.promql("rate(")
        with pytest.raises(kymograph.QueryError, match="a number and a unit, as in 90s.*2w$"):
            db.promql("up", since="never")
        with pytest.raises(ValueError, match="one moment"):
            db.promql("up", time=1, since="1h")


@needs_kymo
def test_a_directory_and_a_server_answer_the_same(checkpoint, tmp_path):
    data = tmp_path / "data"
    subprocess.run(
        [KYMO, "import", checkpoint.path, "--data", data], check=True, capture_output=True
    )
    question = "SELECT count(*) AS n FROM spans"
    assert kymograph.open(data).sql(question).to_pydict() == {"n": [12]}
    with Server(data) as server:
        db = kymograph.open(server.url)
        assert db.sql(question).to_pydict() == {"n": [12]}
        assert db.traceql('{ name = "epoch" }').num_rows == 10
        assert db.promql("vector(2)").column("value").to_pylist() == [2.0]


def test_what_is_not_there_is_said(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match="a data directory or a server's URL"):
        kymograph.open(tmp_path / "nowhere.jsonl")
    with pytest.raises(ValueError, match="at least one file"):
        kymograph.open([])
    monkeypatch.setenv("KYMO_BIN", str(tmp_path / "kymo"))
    with pytest.raises(FileNotFoundError, match="KYMO_BIN"):
        kymograph.open("http://localhost:1").sql("SELECT 1")
    monkeypatch.delenv("KYMO_BIN")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="not on PATH"):
        kymograph.open("http://localhost:1").sql("SELECT 1")


@needs_kymo
def test_a_server_that_is_away_is_said():
    with pytest.raises(kymograph.QueryError, match="cannot reach"):
        kymograph.open("http://127.0.0.1:9").sql("SELECT 1")


def test_queries_of_series_are_told_from_searches():
    from kymograph.database import _is_metrics

    for query in ("{ } | rate()", "{ a } | count_over_time() by (name)", "{}|compare({x})"):
        assert _is_metrics(query), query
    for query in (
        '{ name = "| rate()" }',
        "{ } | count() > 2",
        "{ a } | select(b)",
        "{ name = `| rate(` }",
    ):
        assert not _is_metrics(query), query
