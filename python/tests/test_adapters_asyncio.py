"""Tasks of event loops."""

from __future__ import annotations

import asyncio
import sys

import pytest
from adapter_helpers import open_session, states_of, tasks_of
from opentelemetry import trace

from kymograph.adapters.asyncio import create_task, gather, instrument


async def nap(seconds: float) -> float:
    await asyncio.sleep(seconds)
    return seconds


async def fail() -> None:
    raise ValueError("no")


async def outer() -> str:
    await asyncio.create_task(nap(0))
    return f"{trace.get_current_span().get_span_context().span_id:016x}"


def test_every_task_of_an_instrumented_loop_is_one_of_the_session(tmp_path):
    async def main() -> None:
        with instrument(session):
            one = asyncio.create_task(nap(0.01), name="first")
            await asyncio.gather(nap(0.02), one)
            assert one.get_name() == "first"
            with pytest.raises(ValueError):
                await asyncio.create_task(fail())
        await asyncio.create_task(nap(0))

    with open_session(tmp_path) as session:
        asyncio.run(main())
    tasks = tasks_of(session)
    assert {name: len(spans) for name, spans in tasks.items()} == {"first": 1, "nap": 1, "fail": 1}
    (first,) = tasks["first"]
    assert first.attributes["executable"] == "nap"
    assert list(states_of(first)) == ["TaskSubmitted", "TaskQueued", "TaskStarted"]
    assert first.end_time - states_of(first)["TaskStarted"] > 0.005
    assert tasks["fail"][0].attributes["error_type"] == "ValueError"


def test_cancellation_cancels(tmp_path):
    async def main() -> None:
        with instrument(session):
            running = asyncio.create_task(nap(60), name="running")
            await asyncio.sleep(0.01)
            never = asyncio.create_task(nap(60), name="never")
            running.cancel()
            never.cancel()
            for task in (running, never):
                with pytest.raises(asyncio.CancelledError):
                    await task
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(create_task(session, nap(60), name="late"), 0.01)

    with open_session(tmp_path) as session:
        asyncio.run(main())
    tasks = tasks_of(session)
    assert {span.attributes["status"] for spans in tasks.values() for span in spans} == {"canceled"}
    assert set(tasks) == {"running", "never", "late"}
    assert "TaskStarted" not in states_of(tasks["never"][0])
    assert tasks["never"][0].attributes["incomplete_lifecycle"]


def test_a_task_lies_in_the_one_that_made_it(tmp_path):
    async def main() -> str:
        with instrument(session):
            return await asyncio.create_task(outer())

    with open_session(tmp_path) as session:
        inside = asyncio.run(main())
    tasks = tasks_of(session)
    assert tasks["outer"][0].span_id == inside
    assert tasks["nap"][0].parent_span_id == inside


def test_chosen_tasks_alone(tmp_path):
    async def main() -> list[float]:
        await asyncio.create_task(nap(0))
        results = await gather(session, nap(0.01), asyncio.sleep(0, 5), name="step")
        errors = await gather(session, fail(), return_exceptions=True)
        assert isinstance(errors[0], ValueError)
        return results

    with open_session(tmp_path) as session:
        assert asyncio.run(main()) == [0.01, 5]
    tasks = tasks_of(session)
    assert {name: len(spans) for name, spans in tasks.items()} == {"step": 2, "fail": 1}


@pytest.mark.skipif(sys.version_info < (3, 11), reason="task groups are of 3.11")
def test_a_task_group_that_fails_cancels_the_others(tmp_path):
    async def main() -> None:
        with instrument(session):
            async with asyncio.TaskGroup() as group:
                group.create_task(nap(60))
                group.create_task(fail())

    with open_session(tmp_path) as session:
        with pytest.raises(BaseExceptionGroup):  # noqa: F821
            asyncio.run(main())
    tasks = tasks_of(session)
    assert tasks["nap"][0].attributes["status"] == "canceled"
    assert tasks["fail"][0].attributes["status"] == "failed"


def test_a_factory_that_was_there_makes_the_tasks(tmp_path):
    made = []

    def factory(loop, coroutine, **options):
        made.append(options)
        return asyncio.Task(coroutine, loop=loop, **options)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_task_factory(factory)
        with instrument(session):
            await asyncio.create_task(nap(0))
            assert len(made) == 1
        assert loop.get_task_factory() is factory

    with open_session(tmp_path) as session:
        asyncio.run(main())
    assert len(tasks_of(session)["nap"]) == 1
