"""Tasks and scopes: states, times, functions, what lies in what."""

import asyncio
import time

import pytest
from conftest import run_python

import kymograph


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


def test_whole_lives_can_be_emitted(session):
    for name, moment in (("TaskCreated", 1.0), ("TaskStarted", 2.0), ("TaskCompleted", 5.0)):
        session.emit(name, task_id="far.1", backend="dask", time=1_700_000_000 + moment)
    (span,) = session.spans()
    assert span.attributes["task_id"] == "far.1" and span.attributes["backend"] == "dask"
    assert span.duration_seconds == 4.0
    assert session.summary()["duration"]["total_seconds"] == pytest.approx(3.0)


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
