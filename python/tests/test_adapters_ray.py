"""Real Ray: calls of functions and actors."""

from __future__ import annotations

import asyncio
import os
import time

import pytest
from adapter_helpers import open_session, states_of, tasks_of, wait_until

ray = pytest.importorskip("ray")

from opentelemetry import trace

from kymograph.adapters.ray import remote


@pytest.fixture(scope="module", autouse=True)
def cluster():
    # So that workers find this module.
    here = os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")])
    ray.init(
        num_cpus=1,
        include_dashboard=False,
        object_store_memory=80_000_000,
        log_to_driver=False,
        runtime_env={"env_vars": {"PYTHONPATH": here}},
    )
    yield
    ray.shutdown()


def square(n: int) -> int:
    return n * n


def halves(n: int) -> tuple[int, int]:
    return n // 2, n - n // 2


def fail() -> None:
    raise ValueError("no")


def die() -> None:
    os._exit(1)


def context() -> tuple[str, str]:
    ids = trace.get_current_span().get_span_context()
    return os.environ["TRACEPARENT"], f"00-{ids.trace_id:032x}-{ids.span_id:016x}-01"


class Counter:
    def __init__(self, start: int) -> None:
        self.count = start

    def add(self, n: int) -> int:
        self.count += n
        return self.count

    def context(self) -> tuple[str, str]:
        return context()

    def fail(self) -> None:
        raise KeyError("gone")


class Sleeper:
    async def span(self) -> str:
        await asyncio.sleep(0.01)
        ids = trace.get_current_span().get_span_context()
        return f"{ids.trace_id:032x}-{ids.span_id:016x}"


def ended(session, name, count=1):
    return wait_until(lambda: (t := tasks_of(session).get(name, [])) and len(t) == count and t)


def test_calls_of_functions_are_tasks(tmp_path):
    with open_session(tmp_path) as session:
        step = remote(session, square, num_cpus=1)
        assert ray.get([step.remote(n) for n in range(3)]) == [0, 1, 4]
        assert ray.get(step.options(num_cpus=0.5).remote(ray.put(5))) == 25
        tasks = ended(session, "square", 4)
    for task in tasks:
        assert task.attributes["status"] == "completed" and task.attributes["backend"] == "ray"
        assert task.attributes["process.pid"] != os.getpid()
        assert list(states_of(task)) == ["TaskSubmitted", "TaskQueued", "TaskStarted"]
        assert states_of(task)["TaskStarted"] <= task.end_time


def test_several_results_come_back_one_by_one(tmp_path):
    with open_session(tmp_path) as session:
        first, second = remote(session, halves, num_returns=2).remote(5)
        assert ray.get([first, second]) == [2, 3]
        ended(session, "halves")
    with pytest.raises(ValueError, match="expected a number"):
        remote(session, halves, num_returns="dynamic")


def test_the_trace_goes_on_in_tasks_and_actors(tmp_path):
    with open_session(tmp_path) as session:
        in_task = ray.get(remote(session, context).remote())
        counter = remote(session, Counter).remote(0)
        in_actor = ray.get(counter.context.remote())
        (task,), (call,) = ended(session, "context"), ended(session, "Counter.context")
    for inside, span in ((in_task, task), (in_actor, call)):
        expected = f"00-{span.trace_id}-{span.span_id}-01"
        assert tuple(inside) == (expected, expected)


def test_an_actor_keeps_its_state_and_its_calls_are_tasks(tmp_path):
    with open_session(tmp_path) as session:
        counter = remote(session, Counter).remote(10)
        assert ray.get([counter.add.remote(1), counter.add.remote(2)]) == [11, 13]
        with pytest.raises(KeyError):
            ray.get(counter.fail.remote())
        assert len(ended(session, "Counter.add", 2)) == 2
        (failed,) = ended(session, "Counter.fail")
        ray.kill(counter.handle)
    assert failed.attributes["error_type"] == "KeyError"
    assert failed.attributes["task_type"] == "ray.actor"


def test_an_asynchronous_actor_continues_the_trace(tmp_path):
    with open_session(tmp_path) as session:
        sleeper = remote(session, Sleeper).remote()
        inside = ray.get([sleeper.span.remote() for _ in range(3)])
        tasks = ended(session, "Sleeper.span", 3)
        ray.kill(sleeper.handle)
    assert set(inside) == {f"{task.trace_id}-{task.span_id}" for task in tasks}


def test_errors_and_workers_that_die_fail_their_tasks(tmp_path):
    with open_session(tmp_path) as session:
        with pytest.raises(ValueError):
            ray.get(remote(session, fail).remote())
        with pytest.raises(ray.exceptions.WorkerCrashedError):
            ray.get(remote(session, die, max_retries=0).remote())
        (failed,), (died,) = ended(session, "fail"), ended(session, "die")
    assert failed.attributes["error_type"] == "ValueError"
    assert "TaskStarted" in states_of(failed)
    assert died.attributes["error_type"] == "WorkerCrashedError"


def test_a_call_that_is_canceled_is_canceled(tmp_path):

    with open_session(tmp_path) as session:

        def wait() -> None:
            import time

            time.sleep(60)

        # Both need the one processor, so the second cannot have begun.
        waits = remote(session, wait, num_cpus=1, max_retries=0)
        first, second = waits.remote(), waits.remote()
        ray.cancel(second)
        ray.cancel(first, force=True)
        tasks = ended(session, "wait", 2)
    states = sorted(task.attributes["status"] for task in tasks)
    assert "canceled" in states


def keywords(*args: object, **kwargs: object) -> tuple[object, ...]:
    return args, kwargs


class Taker:
    def take(self, *args: object, **kwargs: object) -> tuple[object, ...]:
        return args, kwargs


class AsyncTaker:
    async def take(self, *args: object, **kwargs: object) -> tuple[object, ...]:
        return args, kwargs


def test_arguments_of_any_name_go_to_the_function(tmp_path):
    given = {"carrier": 1, "returns": 2, "function": 3, "name": 4, "task": 5, "session": 6}
    with open_session(tmp_path) as session:
        calls = [remote(session, keywords).remote(0, **given)]
        actors = [remote(session, kind).remote() for kind in (Taker, AsyncTaker)]
        calls += [actor.take.remote(0, **given) for actor in actors]
        for args, kwargs in ray.get(calls):
            assert tuple(args) == (0,) and kwargs == given
        for actor in actors:
            ray.kill(actor.handle)


def test_a_session_that_is_closed_at_once_has_the_ends_of_its_calls(tmp_path):
    for _ in range(5):
        with open_session(tmp_path) as session:
            step = remote(session, square)
            ray.get([step.remote(n) for n in range(4)])
        count = session.task_count()
        assert (count["completed"], count["running"]) == (4, 0)


def test_a_session_waits_for_calls_that_run_but_not_for_ever(tmp_path):
    def wait(seconds: float) -> None:
        import time

        time.sleep(seconds)

    session = open_session(tmp_path)
    waits = remote(session, wait, num_cpus=0, max_retries=0)
    waits.remote(0.5)
    assert session.close(20.0)
    assert session.task_count()["completed"] == 1

    other = open_session(tmp_path)
    endless = remote(other, wait, num_cpus=0, max_retries=0).remote(600.0)
    began = time.monotonic()
    other.close(1.0)
    assert 0.4 < time.monotonic() - began < 10
    ray.cancel(endless, force=True)
