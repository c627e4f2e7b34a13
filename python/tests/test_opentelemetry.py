"""Sessions and OpenTelemetry's own spans, each inside the other."""

import pytest

sdk = pytest.importorskip("opentelemetry.sdk.trace")

from opentelemetry import trace  # noqa: E402
from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # noqa: E402
from opentelemetry.sdk.trace.export.in_memory_span_exporter import (  # noqa: E402
    InMemorySpanExporter,
)


@pytest.fixture
def tracer():
    exporter = InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("test")
    tracer.finished = exporter.get_finished_spans
    return tracer


def hex_ids(span):
    return f"{span.context.trace_id:032x}", f"{span.context.span_id:016x}"


def test_spans_of_others_lie_below_tasks_and_scopes(session, tracer):
    with session:
        with tracer.start_as_current_span("in-session"):
            pass
        with session.run("task") as task:
            with tracer.start_as_current_span("in-task"):
                pass
        with session.span("scope") as scope:
            with tracer.start_as_current_span("in-scope"):
                pass
    parents = {span.name: f"{span.parent.span_id:016x}" for span in tracer.finished()}
    assert parents == {
        "in-session": session.span_id,
        "in-task": task.span_id,
        "in-scope": scope.span_id,
    }
    assert {f"{span.context.trace_id:032x}" for span in tracer.finished()} == {session.trace_id}
    assert not trace.get_current_span().get_span_context().is_valid


def test_tasks_lie_below_spans_of_others_in_the_same_trace(session, tracer):
    with session:
        with tracer.start_as_current_span("outer"):
            session.create_task("task").completed()
    (outer,) = tracer.finished()
    (task,) = [span for span in session.spans() if span.name == "task"]
    assert task.parent_span_id == hex_ids(outer)[1]


def test_a_session_lies_below_the_span_that_is_active(make_session, tracer):
    with tracer.start_as_current_span("request"):
        session = make_session()
    (request,) = tracer.finished()
    assert session.trace_id == hex_ids(request)[0]
    session.close()
    root = session.spans()[-1]
    assert root.name == "session" and root.parent_span_id == hex_ids(request)[1]


def test_a_span_of_another_trace_is_no_parent(session, tracer):
    with tracer.start_as_current_span("elsewhere"):
        session.create_task("task").completed()
    assert session.spans()[0].parent_span_id == session.span_id


def test_a_server_gets_what_a_session_records(make_session):
    pytest.importorskip("grpc")
    from otlp_sink import Sink

    sink = Sink()
    try:
        for protocol, url in (("grpc", sink.grpc_url), ("http/protobuf", sink.http_url)):
            session = make_session("sent", endpoint=url, protocol=protocol, headers={"x-k": "v"})
            with session.run("task"):
                pass
            assert session.close()
            names = {
                span.name for span, resource in sink.spans() if resource["session_id"] == session.id
            }
            assert names == {"session", "task"}
            assert session.stats()["export"]["spans"]["sent"] == 2
        assert {"TaskCompleted", "SessionEnded"} <= {record.event_name for record in sink.records()}
        assert "tasks_completed" in sink.metrics()
    finally:
        sink.close()


def test_a_server_that_is_away_is_counted_and_holds_nobody_up(make_session):
    session = make_session(endpoint="http://127.0.0.1:9")
    for _ in range(1000):
        session.create_task("a").completed()
    session.close(timeout=2.0)
    assert session.task_count()["completed"] == 1000
    export = session.stats()["export"]
    assert export["spans"]["sent"] == 0
