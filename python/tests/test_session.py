"""Sessions: where they write, what they lie below, how they end."""

import asyncio
import os
import sys

import pytest
from conftest import UnprintableError, events_of, lines, resource_of, run_python, spans_of

import kymograph


def test_a_session_is_a_trace_in_a_file(tmp_path):
    with kymograph.session("train", directory=tmp_path, poll_interval=None) as s:
        with s.run("epoch", attributes={"n": 1}) as task:
            pass
    first, *rest = lines(s.path)
    assert os.path.dirname(s.path) == str(tmp_path)
    assert first["kymo"] == "checkpoint" and first["session_id"] == s.id
    assert first["trace_id"] == s.trace_id and first["span_id"] == s.span_id
    spans = {span["name"]: span for span in spans_of(s.path)}
    assert spans["session"]["spanId"] == s.span_id
    assert spans["epoch"]["parentSpanId"] == s.span_id
    assert spans["epoch"]["spanId"] == task.span_id
    assert {span["traceId"] for span in spans.values()} == {s.trace_id}
    assert spans["epoch"]["attributes"]["n"] == 1
    assert spans["epoch"]["attributes"]["status"] == "completed"
    resource = resource_of(s.path)
    assert resource["service.name"] == "train" and resource["session_id"] == s.id
    assert resource["telemetry.sdk.language"] == "python"
    assert s.traceparent == f"00-{s.trace_id}-{s.span_id}-01"
    names = [event["eventName"] for event in events_of(s.path)]
    assert names == [
        "SessionStarted",
        "TaskCreated",
        "TaskSubmitted",
        "TaskStarted",
        "TaskCompleted",
        "SessionEnded",
    ]


def test_checkpoints_go_where_they_are_told(tmp_path, make_session):
    named = make_session(checkpoint=tmp_path / "deep" / "run.jsonl")
    assert named.path == str(tmp_path / "deep" / "run.jsonl")
    none = make_session(checkpoint=False)
    assert none.path is None
    before = set(os.listdir(tmp_path))
    with none.run("a"):
        pass
    none.close()
    assert set(os.listdir(tmp_path)) == before
    assert none.task_count()["completed"] == 1


def test_the_summary_is_shaped_as_rhapsodys(session):
    assert session.summary()["duration"] == {}
    with session.run("a"):
        pass
    summary = session.summary()
    assert set(summary) == {"session_id", "duration_seconds", "tasks", "duration", "resources"}
    assert summary["session_id"] == session.id
    tasks = summary["tasks"]
    assert tasks["submitted"] == tasks["completed"] == 1
    assert tasks["failed"] == tasks["canceled"] == tasks["running"] == 0
    assert set(summary["duration"]) == {
        "total_seconds",
        "mean_seconds",
        "min_seconds",
        "max_seconds",
    }


def test_after_the_end_calls_do_nothing(session):
    task = session.create_task("a")
    assert session.close()
    assert session.close()
    assert session.is_ended
    task.completed()
    session.create_task("b").started()
    session.emit("my.Event")
    with session.span("c"):
        pass
    assert session.stats()["dropped"] > 0
    assert session.task_count()["completed"] == 0
    assert [span["name"] for span in spans_of(session.path)].count("session") == 1


def test_what_cannot_work_is_refused_with_the_reason(tmp_path):
    start = kymograph.session
    for options, words in (
        ({"poll_interval": 0.001}, "poll interval"),
        ({"when_full": "explode"}, "'block' or 'drop'"),
        ({"queue_events": 0}, "1 or more"),
        ({"endpoint": "ftp://x"}, "URL"),
        ({"endpoint": "http://localhost:1", "protocol": "smoke"}, "grpc"),
        ({"parent": "00-zz"}, "traceparent"),
        ({"flush_interval": -1}, "flush_interval"),
    ):
        with pytest.raises(ValueError, match=words):
            start("a", directory=tmp_path, **options)
    with pytest.raises(ValueError, match="empty"):
        start(" ", directory=tmp_path)


def test_a_directory_that_cannot_be_written_ends_the_file_not_the_session(tmp_path, caplog):
    (tmp_path / "file").write_text("in the way")
    with kymograph.session("a", directory=tmp_path / "file" / "x", poll_interval=None) as s:
        with s.run("task"):
            pass
    assert s.task_count()["completed"] == 1
    assert s.stats()["checkpoint_error"]


def test_flushed_lines_are_there_before_the_end(session):
    session.create_task("a").completed()
    assert session.flush()
    assert "TaskCompleted" in [event["eventName"] for event in events_of(session.path)]


def test_a_full_queue_drops_if_that_was_chosen_and_blocks_otherwise(make_session):
    dropping = make_session(queue_events=4, when_full="drop", checkpoint=False)
    blocking = make_session(queue_events=4, checkpoint=False)
    for _ in range(5000):
        dropping.emit("a.B")
        blocking.emit("a.B")
    assert blocking.stats()["dropped"] == 0
    assert dropping.stats()["dropped"] > 0


def test_parents_come_from_arguments_and_the_environment(make_session, monkeypatch):
    trace, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
    given = make_session(parent=f"00-{trace}-{span}-01")
    assert given.trace_id == trace
    monkeypatch.setenv("TRACEPARENT", f"00-{trace}-{span}-03")
    assert make_session().trace_id == trace
    assert make_session(parent=False).trace_id != trace
    given.close()
    (root,) = [s for s in spans_of(given.path) if s["name"] == "session"]
    assert root["parentSpanId"] == span


def test_a_session_inside_another_lies_in_its_trace(make_session):
    with make_session("outer") as outer:
        with outer.span("step") as step:
            inner = make_session("inner")
    inner.close()
    assert inner.trace_id == outer.trace_id
    (root,) = [s for s in spans_of(inner.path) if s["name"] == "session"]
    assert root["parentSpanId"] == step.span_id


def test_an_error_that_ends_a_session_is_in_its_span(tmp_path):
    with pytest.raises(KeyError):
        with kymograph.session("a", directory=tmp_path, poll_interval=None) as s:
            raise KeyError("lost")
    (root,) = [span for span in spans_of(s.path) if span["name"] == "session"]
    assert root["status"]["code"] in (2, "STATUS_CODE_ERROR")
    assert "lost" in root["status"]["message"]


@pytest.mark.parametrize(
    ("error", "said"),
    [(UnprintableError(), "<unprintable>"), (ValueError("\udcff"), "\ufffd\ufffd\ufffd")],
)
def test_an_error_without_text_goes_through_a_session_and_its_scopes(tmp_path, error, said):
    with pytest.raises(type(error)) as raised:
        with kymograph.session("a", directory=tmp_path, poll_interval=None) as s:
            with s.span("scope"):
                with s.run("task"):
                    raise error
    assert raised.value is error
    assert s.is_ended
    (root,) = [span for span in spans_of(s.path) if span["name"] == "session"]
    assert root["status"]["message"] == f"{type(error).__name__}: {said}"

    async def main():
        async with kymograph.session("b", checkpoint=False, poll_interval=None) as asynchronous:
            main.session = asynchronous
            raise error

    with pytest.raises(type(error)):
        asyncio.run(main())
    assert main.session.is_ended


def test_a_timeout_that_is_none_is_refused_and_the_session_goes_on(session):
    for wrong in (-1, float("nan"), float("-inf")):
        with pytest.raises(ValueError, match="expected seconds"):
            session.close(wrong)
        with pytest.raises(ValueError, match="expected seconds"):
            session.flush(wrong)
    assert not session.is_ended and session in sys.modules["kymograph.session"]._open
    assert session.flush(1e19) and session.flush(float("inf"))
    with session.run("a"):
        pass
    assert session.close(float("inf"))
    assert session not in sys.modules["kymograph.session"]._open
    assert "TaskCompleted" in [event["eventName"] for event in events_of(session.path)]


@pytest.mark.parametrize("timeout", [1e19, 1e300, float("inf")])
def test_a_long_timeout_is_as_long_as_it_takes(make_session, timeout):
    assert make_session().close(timeout)
    assert make_session(flush_interval=timeout).close()


#: What the programs below have in common: memory and threads of this process, and an endpoint
#: where nobody listens.
LEFT_BEHIND = """
import gc, os, socket, time, kymograph

def memory():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20

def threads():
    found = []
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/comm") as file:
                found.append(file.read().strip())
        except OSError:
            pass  # it has just ended
    # One thread has the connections of all sessions, and stays.
    return [name for name in found if name.startswith("kymo") and name != "kymo-export"]

def wait_for_threads():
    until = time.monotonic() + 40
    while threads() and time.monotonic() < until:
        time.sleep(0.02)
    assert not threads(), threads()

nobody = socket.socket()
nobody.bind(("127.0.0.1", 0))  # and does not listen
endpoint = f"http://127.0.0.1:{nobody.getsockname()[1]}"

def start(**options):
    return kymograph.session("a", poll_interval=None, **options)
"""
needs_proc = pytest.mark.skipif(
    not os.path.exists("/proc/self/statm"), reason="memory and threads cannot be seen here"
)


@needs_proc
@pytest.mark.parametrize(
    ("options", "timeout"),
    [
        pytest.param("endpoint=endpoint, checkpoint=False", 0.5, id="a server is away"),
        pytest.param("", 0.0, id="nobody waits for the file"),
    ],
)
def test_a_session_that_did_not_end_in_time_is_let_go(tmp_path, options, timeout):
    program = f"""
def end_too_early():
    s = start({options})
    for n in range(5000):
        s.create_task("a", attributes={{"n": "x" * 2000}}).started()
    # All of them end now.
    assert not s.close({timeout})
    assert s.task_count()["started"] == 5000

known = []
for _ in range(10):
    end_too_early()
    wait_for_threads()
    known.append(memory())
# Five that were kept would have some 60 MB; what comes and goes leaves next to nothing.
assert known[-1] - known[4] < 30, known
"""
    done = run_python(LEFT_BEHIND + program, tmp_path, timeout=300)
    assert done.returncode == 0, done.stderr


@needs_proc
def test_a_task_that_outlives_its_session_holds_nobody_up(tmp_path):
    program = """
s = start(endpoint=endpoint)
task = s.create_task("a")
assert not s.close(0)
del s
gc.collect()
wait_for_threads()
began = time.monotonic()
del task
assert time.monotonic() - began < 1
"""
    done = run_python(LEFT_BEHIND + program, tmp_path)
    assert done.returncode == 0, done.stderr


def test_what_was_lost_is_among_the_metrics_at_once(session):
    def lost():
        points = {point.name: point.value for point in session.metrics()}
        return points["session_events_dropped"], points["session_events_after_end"]

    assert lost() == (0, 0)
    task = session.create_task("a")
    task.completed()
    task.started()
    session.emit("TaskStarted", task_id=task.id)
    assert lost() == (0, 2)
    session.close()
    session.emit("too.Late")
    assert lost() == (1, 2)


def test_what_adapters_wait_for_is_waited_for_before_the_end(session, caplog):
    seen = []
    session._wait_before_end(lambda seconds: seen.append((seconds, session.is_ended)))
    session._wait_before_end(lambda seconds: 1 / 0)
    assert session.close(4.0)
    ((seconds, is_ended),) = seen
    assert 0 < seconds <= 2.0 and not is_ended
    assert "an adapter could not end" in caplog.text
    session.close()
    assert len(seen) == 1
