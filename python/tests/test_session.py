"""Sessions: tasks, spans, events, and what is known of them."""

import asyncio
import os
import time

import pytest
from conftest import events_of, lines, resource_of, run_python, spans_of

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


def test_states_have_the_times_that_are_told(session):
    task = session.create_task("simulate", id="t-1", backend="b", node_id="n", time=1_700_000_000.0)
    task.submitted(time=1_700_000_001.0)
    task.queued(time=1_700_000_002.25)
    task.started("n2", time=1_700_000_003.5)
    task.completed(time=1_700_000_005.75)
    (span,) = session.spans()
    assert span.start_nanos == 1_700_000_000_000_000_000
    assert span.end_nanos == 1_700_000_005_750_000_000
    assert span.duration_seconds == 5.75
    assert [(event.name, event.time) for event in span.events] == [
        ("TaskSubmitted", 1_700_000_001.0),
        ("TaskQueued", 1_700_000_002.25),
        ("TaskStarted", 1_700_000_003.5),
    ]
    assert span.attributes["task_id"] == task.id == "t-1"
    assert span.attributes["node_id"] == "n2"
    assert session.summary()["duration"]["total_seconds"] == pytest.approx(2.25)


@pytest.mark.parametrize("wrong", [-1.0, float("nan"), float("inf"), 1_794_907_105_514.0, 1e300])
def test_a_time_that_is_none_is_now(session, wrong):
    before = time.time()
    task = session.create_task("a", time=wrong)
    task.started(time=wrong)
    task.completed(time=wrong)
    with session.span("b") as span:
        span.end(time=wrong)
    session.emit("a.B", time=wrong, emit_time=wrong)
    for span in session.spans():
        assert before - 1 < span.start_time <= span.end_time < time.time() + 1


def test_a_time_that_is_none_is_said_once(tmp_path):
    done = run_python(
        """
        import logging, time, kymograph
        said = []
        class Keep(logging.Handler):
            def emit(self, record):
                said.append(record.getMessage())
        logging.getLogger("kymograph").addHandler(Keep())
        with kymograph.session("a", checkpoint=False, poll_interval=None) as s:
            for _ in range(3):
                s.create_task("a", time=1.7e12).completed(time=-1)
        until = time.monotonic() + 20
        while not said and time.monotonic() < until:
            time.sleep(0.01)
        assert len(said) == 1 and "seconds since 1970" in said[0], said
        """,
        tmp_path,
    )
    assert done.returncode == 0, done.stderr


class Unprintable:
    def __str__(self):
        raise RuntimeError("not now")


class UnprintableError(Exception):
    def __str__(self):
        raise RuntimeError("not now")


def test_whatever_text_is_told_is_taken(session):
    task = session.create_task(
        "\udcff", id="i\udcff", backend="b\udcff", node_id="n", attributes={"k": Unprintable()}
    )
    task.annotate("\udcff", {"\udcff": "\udcff"})
    task.started("n\udcff")
    task.failed(UnprintableError(), None)
    session.create_task("b").failed("Broken", "message \udcff")
    session.create_task("c").failed(Unprintable())
    with session.span("\udcff", {"k": [Unprintable(), 1]}) as span:
        span.set_attribute("\udcff", Unprintable())
    session.annotate("\udcff")
    session.emit("a.B", task_id="\udcff", node_id="\udcff", key="\udcff")
    first, *_ = session.spans()
    assert first.attributes["k"] == "<unprintable>"
    assert first.attributes["error_type"] == "UnprintableError"
    assert first.name and first.name == "\ufffd" * len(first.name)
    assert session.task_count()["failed"] == 3
    with pytest.raises(ValueError):
        session.emit("no name")


def test_failures_say_what_they_are(session):
    session.create_task("a").failed(KeyError("who"))
    session.create_task("b").failed(ValueError)
    session.create_task("c").failed("OutOfMemory", "killed by 9")
    session.create_task("d").canceled()
    errors = {span.name: span for span in session.spans()}
    assert errors["a"].attributes["error_type"] == "KeyError"
    assert errors["b"].attributes["error_type"] == "ValueError"
    assert errors["c"].attributes["error_type"] == "OutOfMemory"
    assert errors["c"].status == "error"
    assert errors["d"].attributes["status"] == "canceled"
    assert session.task_count()["failed"] == 3
    assert session.task_count()["canceled"] == 1


def test_a_task_that_ends_twice_counts_once(session):
    task = session.create_task("a")
    task.started()
    task.completed()
    task.completed()
    task.failed("late")
    task.started()
    assert task.has_ended
    assert session.task_count()["completed"] == 1
    assert session.task_count()["failed"] == 0
    assert session.stats()["after_end"] == 3


def test_functions_are_tasks(session):
    @session.task
    def double(n):
        "Twice."
        return 2 * n

    @session.task(name="explode", task_type="bad", attributes={"k": "v"})
    def fail():
        raise RuntimeError("no")

    assert double(4) == 8
    assert double.__doc__ == "Twice."
    with pytest.raises(RuntimeError, match="no"):
        fail()
    spans = {span.name: span for span in session.spans()}
    assert spans["double"].attributes["executable"] == "double"
    assert spans["explode"].attributes["task_type"] == "bad"
    assert spans["explode"].attributes["k"] == "v"
    assert spans["explode"].attributes["error_type"] == "RuntimeError"
    count = session.task_count()
    assert (count["submitted"], count["completed"], count["failed"]) == (2, 1, 1)

    with pytest.raises(TypeError, match="generator"):

        @session.task
        def generate():
            yield 1


def test_coroutines_are_tasks_and_cancellation_is_no_failure(session):
    @session.task
    async def nap(seconds):
        await asyncio.sleep(seconds)
        return seconds

    async def main():
        assert await asyncio.gather(nap(0.0), nap(0.001)) == [0.0, 0.001]
        canceled = asyncio.ensure_future(nap(3600))
        await asyncio.sleep(0)
        canceled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await canceled

    asyncio.run(main())
    count = session.task_count()
    assert (count["completed"], count["canceled"], count["failed"]) == (2, 1, 0)


def test_scopes_nest_by_context_also_across_tasks_of_a_loop(session):
    async def work(name):
        with session.span(name) as span:
            await asyncio.sleep(0.001)
            with session.run(f"{name}.task") as task:
                await asyncio.sleep(0.001)
            span.annotate("mark", {"n": 1})
        return span.span_id, task.span_id

    async def main():
        with session.span("outer"):
            return await asyncio.gather(work("a"), work("b"))

    (a, a_task), (b, b_task) = asyncio.run(main())
    spans = {span.name: span for span in session.spans()}
    assert spans["a"].parent_span_id == spans["b"].parent_span_id == spans["outer"].span_id
    assert spans["a.task"].parent_span_id == a and spans["a.task"].span_id == a_task
    assert spans["b.task"].parent_span_id == b
    assert spans["outer"].parent_span_id == session.span_id
    assert [(event.name, event.attributes) for event in spans["a"].events] == [("mark", {"n": 1})]
    assert kymograph.current_span() is None


def test_a_scope_that_is_left_by_an_error_says_so(session):
    with pytest.raises(ValueError):
        with session.span("load", {"rows": 3}) as span:
            span.set_attribute("path", "x")
            raise ValueError("bad row")
    (span,) = session.spans()
    assert span.status == "error" and "bad row" in span.status_message
    assert span.attributes == {"rows": 3, "path": "x"}


def test_a_parent_may_be_anything_that_has_ids(session):
    outer = session.create_task("outer")
    for parent in (outer, outer.span_id, outer.traceparent):
        session.create_task("inner", parent=parent).completed()
    assert {span.parent_span_id for span in session.spans()} == {outer.span_id}
    for wrong in ("x", "0" * 16, 7, object()):
        with pytest.raises(ValueError, match="is no parent"):
            session.create_task("wrong", parent=wrong)


def test_the_context_of_a_task_is_current_inside(session):
    task = session.create_task("outer")
    with task.context() as current:
        assert current is task and kymograph.current_span() is task
        session.create_task("inner").completed()
        session.annotate("note", {"k": 1})
    task.completed()
    inner, outer = session.spans()
    assert inner.parent_span_id == outer.span_id
    assert [event.name for event in outer.events] == ["note"]


def test_declared_events_have_defaults_and_types(session):
    Score = kymograph.define_event("myapp.Score", score=float, label=(str, "unknown"), n=int)
    session.emit(Score(score=1))
    session.emit(Score(label="x"), task_id="t-9")
    session.emit("myapp.Other", node_id="n", time=12.5, emit_time=13.5, colour="red")
    session.close()
    score, second, other = [event for event in events_of(session.path) if "." in event["eventName"]]
    assert score["eventName"] == "myapp.Score"
    assert score["attributes"] == {"score": 1.0, "label": "unknown", "n": 0}
    assert score["spanId"] == session.span_id
    assert second["attributes"]["task_id"] == "t-9" and second["attributes"]["label"] == "x"
    assert other["attributes"] == {"node_id": "n", "colour": "red"}
    assert other["timeUnixNano"] == "12500000000"
    assert other["observedTimeUnixNano"] == "13500000000"

    with pytest.raises(TypeError, match="has no field 'scor'"):
        Score(scor=1)
    with pytest.raises(TypeError, match="is a float"):
        Score(score="high")
    with pytest.raises(ValueError, match="namespace"):
        kymograph.define_event("Score", score=float)
    with pytest.raises(ValueError, match="task_id"):
        kymograph.define_event("myapp.Score", task_id=str)
    with pytest.raises(ValueError, match="namespace"):
        session.emit("Anything")


def test_whole_lives_can_be_emitted(session):
    for name, moment in (("TaskCreated", 1.0), ("TaskStarted", 2.0), ("TaskCompleted", 5.0)):
        session.emit(name, task_id="far.1", backend="dask", time=1_700_000_000 + moment)
    (span,) = session.spans()
    assert span.attributes["task_id"] == "far.1" and span.attributes["backend"] == "dask"
    assert span.duration_seconds == 4.0
    assert session.summary()["duration"]["total_seconds"] == pytest.approx(3.0)


def test_attributes_keep_their_types(session):
    class Odd:
        def __str__(self):
            return "odd"

    given = {
        "text": "ü",
        "yes": True,
        "whole": -3,
        "part": 0.5,
        "nothing": None,
        "huge": 2**70,
        "list": [1, 2],
        "mixed": [1, 2.5],
        "words": ("a", "b"),
        "odd": Odd(),
        7: "key",
    }
    session.create_task("a", attributes=given).completed()
    (span,) = session.spans()
    known = {
        key: value
        for key, value in span.attributes.items()
        if key not in ("task_id", "status", "incomplete_lifecycle")
    }
    assert known == {
        "text": "ü",
        "yes": True,
        "whole": -3,
        "part": 0.5,
        "huge": str(2**70),
        "list": [1, 2],
        "mixed": [1.0, 2.5],
        "words": ["a", "b"],
        "odd": "odd",
        "7": "key",
    }
    assert type(known["yes"]) is bool and type(known["whole"]) is int


def test_numbers_of_numpy_are_numbers(session):
    numpy = pytest.importorskip("numpy")
    given = {"a": numpy.float32(0.5), "b": numpy.int64(7), "c": numpy.float64(1.5)}
    session.create_task("a", attributes=given).completed()
    attributes = session.spans()[0].attributes
    assert (attributes["a"], attributes["b"], attributes["c"]) == (0.5, 7, 1.5)


def test_nodes_and_gpus_are_kept_apart(session):
    session.resource_update(
        "n1", backend="b", cpu_percent=50.0, memory_percent=10.0, gpu_percent=90
    )
    session.resource_update("n1", backend="b", gpu_id=0, gpu_percent=90.0)
    session.resource_update("n1", backend="b", gpu_id=1, gpu_percent=5.0)
    summary = session.summary()
    assert summary["resources"]["b/n1"]["cpu_percent"] == 50.0
    assert summary["resources"]["b/n1"]["disk_read_bytes"] is None
    by_gpu = {resource.gpu_id: resource.values for resource in session.resources()}
    assert by_gpu[None]["cpu_percent"] == 50.0
    assert by_gpu[1]["gpu_percent"] == 5.0


def test_the_node_is_looked_at(make_session):
    session = make_session(poll_interval=0.1)
    until = time.monotonic() + 20
    while not session.resources() and time.monotonic() < until:
        time.sleep(0.02)
    (node,) = [resource for resource in session.resources() if resource.gpu_id is None]
    assert node.values["memory_total_bytes"] > 0


def test_enrichers_add_to_tasks(session):
    session.enrich(lambda event: {"from": event.attributes["k"] + "!"})
    session.create_task("a", attributes={"k": "v"}).completed()
    session.emit("TaskCreated", task_id="far", k="w")
    session.emit("TaskCompleted", task_id="far")
    assert [span.attributes["from"] for span in session.spans()] == ["v!", "w!"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_enricher_that_raises_changes_nothing(session):
    session.enrich(lambda event: 1 / 0)
    session.create_task("a").completed()
    assert session.task_count()["completed"] == 1


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


@pytest.mark.parametrize("error", [UnprintableError(), ValueError("\udcff")])
def test_an_error_without_text_goes_through_a_session_and_its_scopes(tmp_path, error):
    with pytest.raises(type(error)) as raised:
        with kymograph.session("a", directory=tmp_path, poll_interval=None) as s:
            with s.span("scope"):
                with s.run("task"):
                    raise error
    assert raised.value is error
    assert s.is_ended
    (root,) = [span for span in spans_of(s.path) if span["name"] == "session"]
    assert root["status"]["message"] in ("UnprintableError: <unprintable>", "ValueError: \\udcff")

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
    assert not session.is_ended and session in kymograph.session.__globals__["_open"]
    assert session.flush(1e19) and session.flush(float("inf"))
    with session.run("a"):
        pass
    assert session.close(float("inf"))
    assert session not in kymograph.session.__globals__["_open"]
    assert "TaskCompleted" in [event["eventName"] for event in events_of(session.path)]


@pytest.mark.parametrize("timeout", [1e19, 1e300, float("inf")])
def test_a_long_timeout_is_as_long_as_it_takes(make_session, timeout):
    assert make_session().close(timeout)
    assert make_session(flush_interval=timeout).close()


def test_lists_in_lists_are_text(session):
    itself = [1]
    itself.append(itself)
    deep = []
    for _ in range(100_000):
        deep = [deep]
    found = {"itself": itself, "deep": deep, "pairs": [(1, 2), [3]], "none": [None, 1]}
    session.create_task("a", attributes=found).completed()
    (span,) = session.spans()
    assert span.attributes["itself"] == ["1", "[1, [...]]"]
    assert span.attributes["pairs"] == ["(1, 2)", "[3]"]
    assert span.attributes["none"] == [1]
    assert len(span.attributes["deep"]) == 1
    # Taking it apart one by one, since that recurses, too.
    while deep:
        deep = deep.pop()


def test_switches_of_numpy_are_switches(session):
    numpy = pytest.importorskip("numpy")
    found = {"yes": numpy.True_, "both": [numpy.True_, False], "one": numpy.float32(0.5)}
    session.create_task("a", attributes=found).completed()
    (span,) = session.spans()
    assert span.attributes["yes"] is True
    assert span.attributes["both"] == [True, False]
    assert span.attributes["one"] == 0.5


def test_attributes_may_change_while_they_are_read(session):
    found = {}

    class Changing:
        def __str__(self):
            found["more"] = 1
            return "text"

    found.update({"a": Changing(), "b": Changing()})
    session.create_task("a", attributes=found).completed()
    assert session.spans()[0].attributes["a"] == "text"


def test_nodes_without_a_backend_are_called_by_their_name(session):
    session.resource_update("n1", cpu_percent=1.0)
    session.resource_update("n1", backend="dask", cpu_percent=2.0)
    assert set(session.summary()["resources"]) == {"n1", "dask/n1"}


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory cannot be read here")
def test_a_session_whose_sending_failed_is_let_go(tmp_path):
    program = """
    import gc, os, socket, kymograph

    def memory():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20

    nobody = socket.socket()
    nobody.bind(("127.0.0.1", 0))  # and does not listen
    endpoint = f"http://127.0.0.1:{nobody.getsockname()[1]}"

    def fail_to_send():
        s = kymograph.session(
            "a", endpoint=endpoint, protocol="grpc", checkpoint=False, poll_interval=None
        )
        for n in range(5000):
            s.create_task("a", attributes={"n": "x" * 2000}).completed()
        assert s.task_count()["completed"] == 5000
        assert not s.close(0.5)

    known = []
    for _ in range(12):
        fail_to_send()
        gc.collect()
        known.append(memory())
    # One that is kept has some 20 MB; what comes and goes leaves less.
    assert known[-1] - known[4] < 100, known
    """
    done = run_python(program, tmp_path)
    assert done.returncode == 0, done.stderr


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
