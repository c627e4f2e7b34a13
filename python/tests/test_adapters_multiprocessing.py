"""Pools and processes, however they are started."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time

import pytest
from adapter_helpers import open_session, states_of, tasks_of
from conftest import UnprintableError, events_of
from opentelemetry import trace

from kymograph.adapters.multiprocessing import TracedPool, TracedProcess

METHODS = [m for m in ("spawn", "fork") if m in multiprocessing.get_all_start_methods()]


def square(n: int) -> int:
    time.sleep(0.01)
    return n * n


def add(a: int, b: int) -> int:
    return a + b


def fail() -> None:
    raise ValueError("no")


def leave(code: int) -> None:
    sys.exit(code)


def kill_itself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def write_context(path: str) -> None:
    ids = trace.get_current_span().get_span_context()
    with open(path, "w") as file:
        file.write(f"{os.environ['TRACEPARENT']} 00-{ids.trace_id:032x}-{ids.span_id:016x}-01")


@pytest.mark.parametrize("method", METHODS)
def test_calls_of_a_pool_are_tasks(method, tmp_path):
    with open_session(tmp_path) as session:
        with TracedPool(session, 2, context=method) as pool:
            assert pool.map(square, range(5)) == [0, 1, 4, 9, 16]
            assert pool.starmap(add, [(1, 2), (3, 4)]) == [3, 7]
            assert sorted(pool.imap_unordered(square, [2, 3])) == [4, 9]
            assert pool.apply(add, (1,), {"b": 5}) == 6
            with pytest.raises(ValueError, match="no"):
                pool.apply(fail)
    tasks = tasks_of(session)
    assert {name: len(spans) for name, spans in tasks.items()} == {"square": 7, "add": 3, "fail": 1}
    for task in tasks["square"]:
        assert task.attributes["backend"] == "multiprocessing"
        assert task.attributes["process.pid"] != os.getpid()
        assert task.end_time - states_of(task)["TaskStarted"] > 0.005


def test_calls_of_a_pool_whose_worker_is_killed_fail(tmp_path):
    with open_session(tmp_path) as session:
        with TracedPool(session, 1, context="spawn") as pool:
            with pytest.raises(Exception, match="terminated abruptly"):
                pool.apply(kill_itself)
    (task,) = tasks_of(session)["kill_itself"]
    assert task.attributes["status"] == "failed"


@pytest.mark.parametrize("method", METHODS)
def test_a_process_is_a_task_and_continues_its_trace(method, tmp_path):
    path = tmp_path / "context"
    with open_session(tmp_path) as session:
        process = TracedProcess(
            session, target=write_context, args=(str(path),), context=method, name="writer"
        )
        process.start()
        process.join()
        assert process.exitcode == 0 and not process.is_alive()
    (task,) = tasks_of(session)["writer"]
    expected = f"00-{task.trace_id}-{task.span_id}-01"
    assert path.read_text().split() == [expected, expected]
    assert task.attributes["status"] == "completed"
    assert task.attributes["process.pid"] == process.pid
    assert states_of(task)["TaskSubmitted"] <= states_of(task)["TaskStarted"] <= task.end_time


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("target", "args", "error_type"),
    [(fail, (), "ValueError"), (leave, (3,), "ExitCode"), (kill_itself, (), "SIGKILL")],
)
def test_a_process_that_ends_badly_fails_its_task(method, target, args, error_type, tmp_path):
    with open_session(tmp_path) as session:
        process = TracedProcess(session, target=target, args=args, context=method)
        process.start()
        process.join()
    (task,) = tasks_of(session)[target.__name__]
    assert task.attributes["error_type"] == error_type
    assert "TaskStarted" in states_of(task)


def test_a_process_that_leaves_well_is_completed(tmp_path):
    with open_session(tmp_path) as session:
        process = TracedProcess(session, target=leave, args=(0,), context="spawn")
        process.start()
        process.join()
    assert tasks_of(session)["leave"][0].attributes["status"] == "completed"


@pytest.mark.parametrize("method", METHODS)
def test_a_pool_that_is_closed_and_joined_has_done_everything(method, tmp_path):
    with open_session(tmp_path) as session:
        pool = TracedPool(session, 1, context=method)
        futures = pool.map_async(square, range(5))
        pool.close()
        pool.join()
        assert [future.done() for future in futures] == [True] * 5
    assert [task.attributes["status"] for task in tasks_of(session)["square"]] == ["completed"] * 5


def nap(seconds: float) -> None:
    time.sleep(seconds)


@pytest.mark.parametrize("method", METHODS)
def test_a_pool_that_is_terminated_and_joined_has_done_what_ran(method, tmp_path):
    with open_session(tmp_path) as session:
        pool = TracedPool(session, 1, context=method)
        futures = [pool.apply_async(nap, (0.3,)) for _ in range(20)]
        pool.terminate()
        pool.join()
        assert all(future.done() for future in futures)
        assert futures[-1].cancelled()
        pool.close()
        pool.join()
    states = [task.attributes["status"] for task in tasks_of(session)["nap"]]
    assert len(states) == 20 and states.count("canceled") >= 15
    assert set(states) <= {"completed", "canceled"}


@pytest.mark.parametrize("method", METHODS)
def test_a_pool_that_was_closed_is_left_when_it_has_done_everything(method, tmp_path):
    with open_session(tmp_path) as session:
        with TracedPool(session, 1, context=method) as pool:
            futures = [pool.apply_async(nap, (0.2,)) for _ in range(5)]
            pool.close()
        assert [future.done() for future in futures] == [True] * 5
    assert [task.attributes["status"] for task in tasks_of(session)["nap"]] == ["completed"] * 5


def test_an_error_in_the_with_of_a_pool_cancels_what_waits(tmp_path):
    with open_session(tmp_path) as session:
        with pytest.raises(KeyError):
            with TracedPool(session, 1, context=METHODS[-1]) as pool:
                futures = [pool.apply_async(nap, (0.3,)) for _ in range(20)]
                raise KeyError
        assert all(future.done() for future in futures)
        assert futures[-1].cancelled()


def leave_a_child_behind(seconds: float) -> None:
    if os.fork() == 0:
        time.sleep(seconds)
        os._exit(0)


@pytest.mark.skipif("fork" not in METHODS, reason="there is no fork here")
@pytest.mark.parametrize("method", METHODS)
def test_a_process_ends_before_its_own_children(method, tmp_path):
    with open_session(tmp_path) as session:
        process = TracedProcess(
            session, target=leave_a_child_behind, args=(15.0,), context=method
        )
        process.start()
        began = time.monotonic()
        process.join(12)
        assert time.monotonic() - began < 12
        assert process.exitcode == 0
    (task,) = tasks_of(session)["leave_a_child_behind"]
    assert task.attributes["status"] == "completed"
    assert "TaskStarted" in states_of(task)


def fail_without_text() -> None:
    raise UnprintableError


def test_a_process_whose_error_has_no_text_fails_its_task(tmp_path):
    with open_session(tmp_path) as session:
        process = TracedProcess(session, target=fail_without_text, context=METHODS[-1])
        process.start()
        process.join()
    (failed,) = [e for e in events_of(session.path) if e["eventName"] == "TaskFailed"]
    assert failed["attributes"]["error_type"] == "UnprintableError"
    assert failed["attributes"]["error_message"] == "<unprintable>"
