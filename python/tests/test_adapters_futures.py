"""Executors: calls are tasks, wherever they run."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import threading
import time
from concurrent.futures import CancelledError, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import pytest
from adapter_helpers import open_session, states_of, tasks_of
from opentelemetry import trace

from kymograph.adapters.futures import TracedExecutor


def square(n: int) -> int:
    time.sleep(0.02)
    return n * n


def fail() -> None:
    raise ValueError("no")


class Odd(Exception):
    """One that does not survive being pickled with its attributes."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code

    def __reduce__(self):
        return Odd, (self.code,)


def fail_oddly() -> None:
    raise Odd(3)


def kill_itself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def current_ids() -> tuple[str, str | None, int]:
    ids = trace.get_current_span().get_span_context()
    return f"{ids.trace_id:032x}-{ids.span_id:016x}", os.environ.get("TRACEPARENT"), os.getpid()


def processes(workers: int = 1) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"))


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_calls_are_tasks_from_submission_to_end(kind, tmp_path):
    executor = ThreadPoolExecutor(1) if kind == "threads" else processes()
    with open_session(tmp_path) as session:
        with TracedExecutor(executor, session) as pool:
            assert list(pool.map(square, range(4))) == [0, 1, 4, 9]
            failing = pool.submit(fail)
            with pytest.raises(ValueError, match="no"):
                failing.result()
    tasks = tasks_of(session)
    assert len(tasks["square"]) == 4
    for task in tasks["square"]:
        states = states_of(task)
        assert task.attributes["status"] == "completed"
        assert task.attributes["backend"] == kind
        assert task.attributes["node_id"] == socket.gethostname()
        assert states["TaskSubmitted"] <= states["TaskQueued"]
        ran = task.end_time - states["TaskStarted"]
        assert 0.015 < ran < 1
        here = task.attributes["process.pid"] == os.getpid()
        assert here == (kind == "threads")
    # One worker, one after the other: the last waited for the others.
    last = max(tasks["square"], key=lambda task: task.end_time)
    assert states_of(last)["TaskStarted"] - states_of(last)["TaskQueued"] > 0.04
    (failed,) = tasks["fail"]
    assert failed.status == "error" and failed.attributes["error_type"] == "ValueError"
    assert "TaskStarted" in states_of(failed)


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_the_task_is_the_current_span_inside(kind, tmp_path):
    executor = ThreadPoolExecutor(1) if kind == "threads" else processes()
    with open_session(tmp_path) as session:
        with TracedExecutor(executor, session) as pool:
            ids, traceparent, process = pool.submit(current_ids).result()
    (task,) = tasks_of(session)["current_ids"]
    assert ids == f"{task.trace_id}-{task.span_id}"
    if kind == "processes":
        assert traceparent == f"00-{ids}-01"
        assert process == task.attributes["process.pid"]


def test_what_was_canceled_is_canceled(tmp_path):
    with open_session(tmp_path) as session:
        gate, begun = threading.Event(), threading.Event()

        def block() -> None:
            begun.set()
            gate.wait(20)

        with TracedExecutor(ThreadPoolExecutor(1), session) as pool:
            running, waiting = pool.submit(block), pool.submit(square, 1)
            assert begun.wait(20)
            assert waiting.cancel() and not running.cancel()
            gate.set()
    tasks = tasks_of(session)
    assert tasks["square"][0].attributes["status"] == "canceled"
    assert tasks["block"][0].attributes["status"] == "completed"


def test_canceled_calls_of_processes_are_canceled(tmp_path):
    with open_session(tmp_path) as session:
        pool = TracedExecutor(processes(), session)
        futures = [pool.submit(square, n) for n in range(20)]
        pool.shutdown(wait=True, cancel_futures=True)
        done, _ = wait(futures)
        canceled = sum(future.cancelled() for future in done)
        assert canceled and len(done) == 20
        with pytest.raises(CancelledError):
            futures[-1].result()
    states = [task.attributes["status"] for task in tasks_of(session)["square"]]
    assert states.count("canceled") == canceled
    assert states.count("completed") == 20 - canceled


def test_a_worker_that_is_killed_fails_its_task(tmp_path):
    with open_session(tmp_path) as session:
        with TracedExecutor(processes(), session) as pool:
            with pytest.raises(BrokenProcessPool):
                pool.submit(kill_itself).result()
    (task,) = tasks_of(session)["kill_itself"]
    assert task.attributes["error_type"] == "BrokenProcessPool"


def test_an_error_that_loses_its_times_still_fails_the_task(tmp_path):
    with open_session(tmp_path) as session:
        with TracedExecutor(processes(), session) as pool:
            with pytest.raises(Odd):
                pool.submit(fail_oddly).result()
    (task,) = tasks_of(session)["fail_oddly"]
    assert task.attributes["error_type"] == "Odd"


def test_a_pool_that_is_shut_down_fails_what_is_submitted(tmp_path):
    with open_session(tmp_path) as session:
        pool = TracedExecutor(ThreadPoolExecutor(1), session, backend="mine", name="step")
        pool.shutdown()
        with pytest.raises(RuntimeError):
            pool.submit(square, 1)
    (task,) = tasks_of(session)["step"]
    assert task.attributes["error_type"] == "RuntimeError"
    assert (task.attributes["backend"], task.attributes["executable"]) == ("mine", "square")


def test_tasks_lie_in_the_scope_in_which_they_were_submitted(tmp_path):
    with open_session(tmp_path) as session:
        with TracedExecutor(ThreadPoolExecutor(2), session) as pool:
            with session.span("outer") as outer:
                future = pool.submit(square, 2)
            future.result()
    assert tasks_of(session)["square"][0].parent_span_id == outer.span_id


def keywords(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
    return args, kwargs


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_arguments_of_any_name_go_to_the_function(kind, tmp_path):
    executor = ThreadPoolExecutor(1) if kind == "threads" else processes()
    given = {"session": 1, "task": 2, "function": 3, "carrier": 4, "self": 5, "fn": 6, "name": 7}
    with open_session(tmp_path) as session:
        with TracedExecutor(executor, session) as pool:
            assert pool.submit(keywords, 0, **given).result(60) == ((0,), given)
    (task,) = tasks_of(session)["keywords"]
    assert task.attributes["status"] == "completed"


def test_a_call_that_never_reached_its_function_fails(tmp_path):
    class Losing(ThreadPoolExecutor):
        def submit(self, *args: Any, **kwargs: Any) -> Any:
            return super().submit(lambda: 1 / 0)

    with open_session(tmp_path) as session:
        with TracedExecutor(Losing(1), session) as pool:
            with pytest.raises(ZeroDivisionError):
                pool.submit(square, 1).result(60)
    (task,) = tasks_of(session)["square"]
    assert task.attributes["error_type"] == "ZeroDivisionError"
