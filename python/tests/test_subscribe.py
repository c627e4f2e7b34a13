"""Those who want to know: callbacks, coroutines, streams."""

import asyncio
import logging
import threading

import pytest

import kymograph


def test_callbacks_get_every_event(session):
    seen, threads = [], set()

    def callback(event):
        seen.append((event.name, event.task_id))
        threads.add(threading.current_thread().name)

    session.subscribe(callback)
    task = session.create_task("a", id="t", backend="b", attributes={"n": 1})
    task.started("node")
    task.failed("Bad", "message")
    session.close()
    names = [name for name, task_id in seen if task_id == "t"]
    assert names == ["TaskCreated", "TaskStarted", "TaskFailed"]
    assert seen[-1] == ("SessionEnded", None)
    assert threads == {"kymograph-subscribers"}


def test_events_say_what_is_known(session):
    seen = []
    session.subscribe(seen.append)
    task = session.create_task("a", id="t", backend="b", attributes={"n": 1}, time=12.5)
    task.failed("Bad", "message")
    session.close()
    created, failed = [event for event in seen if event.task_id == "t"]
    assert (created.time, created.backend, created.node_id) == (12.5, "b", None)
    assert created.emit_time > 1_700_000_000
    assert created.trace_id == session.trace_id and created.span_id == task.span_id
    assert created.span_name == "a" and created.parent_span_id == session.span_id
    assert created.attributes["n"] == 1
    assert failed.attributes["error_type"] == "Bad"
    assert failed.attributes["error_message"] == "message"
    assert "TaskFailed t" in repr(failed)


def test_batches_are_lists(session):
    batches = []
    session.subscribe(batches.append, batch=True)
    for _ in range(100):
        session.emit("a.B")
    session.close()
    names = [event.name for batch in batches for event in batch]
    assert names.count("a.B") == 100
    assert len(batches) < 100


def test_a_callback_that_raises_is_counted_said_once_and_called_again(session, caplog):
    seen = []

    def callback(event):
        seen.append(event.name)
        raise RuntimeError("subscriber")

    with caplog.at_level(logging.WARNING, logger="kymograph"):
        subscription = session.subscribe(callback)
        for _ in range(10):
            session.emit("a.B")
        session.close()
    assert seen.count("a.B") == 10
    assert subscription.errors == len(seen)
    assert session.stats()["subscriber_errors"] == len(seen)
    assert len([r for r in caplog.records if "subscriber" in r.getMessage()]) == 1
    assert session.task_count()["created"] == 0


def test_a_canceled_subscription_gets_nothing_more(session):
    first, second = [], []
    subscription = session.subscribe(first.append)
    session.subscribe(second.append)
    session.emit("a.B")
    session.flush()
    subscription.cancel()
    count = len(first)
    session.emit("a.C")
    session.close()
    assert len(first) == count
    assert "a.C" in [event.name for event in second]


def test_a_subscriber_may_ask_and_tell_and_end(session):
    answers = []

    def callback(event):
        if event.name == "a.B":
            answers.append(session.task_count())
            session.emit("a.C")
        if event.name == "a.C":
            session.close()

    session.subscribe(callback)
    session.emit("a.B")
    ended = threading.Event()
    session.subscribe(lambda event: ended.set() if event.name == "SessionEnded" else None)
    assert ended.wait(20)
    assert len(answers) == 1


def test_coroutines_run_on_the_loop_that_subscribed(tmp_path):
    async def main():
        loop = asyncio.get_running_loop()
        seen = []

        async def callback(event):
            assert asyncio.get_running_loop() is loop
            await asyncio.sleep(0)
            seen.append(event.name)
            if event.name == "a.Bad":
                raise ValueError("async")

        async with kymograph.session("a", directory=tmp_path, poll_interval=None) as s:
            subscription = s.subscribe(callback)
            s.emit("a.Bad")
            for _ in range(50):
                s.emit("a.B")
        return seen, subscription.errors

    seen, errors = asyncio.run(main())
    assert seen.count("a.B") == 50 and errors == 1
    assert seen[-1] == "SessionEnded"


def test_a_stream_ends_with_the_session(tmp_path):
    async def main():
        async with kymograph.session("a", directory=tmp_path, poll_interval=None) as s:
            stream = s.stream()

            async def read():
                return [event.name async for event in stream]

            reading = asyncio.ensure_future(read())
            for n in range(20):
                s.emit("a.B", n=n)
        return await asyncio.wait_for(reading, 20)

    names = asyncio.run(main())
    assert names.count("a.B") == 20 and names[-1] == "SessionEnded"


def test_a_stream_of_an_ended_session_is_empty(tmp_path):
    async def main():
        async with kymograph.session("a", directory=tmp_path, poll_interval=None) as s:
            pass
        return [event async for event in s.stream()]

    assert asyncio.run(main()) == []


def test_a_coroutine_function_needs_a_loop(session):
    async def callback(event):
        pass

    with pytest.raises(RuntimeError, match="loop"):
        session.subscribe(callback)


def test_a_loop_that_is_gone_is_no_problem(session):
    async def subscribe():
        async def callback(event):
            pass

        session.subscribe(callback)

    asyncio.run(subscribe())
    session.emit("a.B")
    assert session.close()


def test_a_full_queue_with_a_subscriber_and_an_enricher_does_not_lock_up(make_session):
    session = make_session(queue_events=2, checkpoint=False)
    seen = []
    session.subscribe(lambda event: seen.append(event.name))
    session.enrich(lambda event: {"k": 1})
    threads = [
        threading.Thread(target=lambda: [session.create_task("a").completed() for _ in range(2000)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert session.close()
    assert session.task_count()["completed"] == 8000
    assert len(seen) + session.stats()["subscribers_missed"] >= 16_000


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
def test_a_callback_that_wants_to_exit_is_counted_and_others_are_served(session, error):
    seen = []

    def leave(event):
        raise error

    async def main():
        session.subscribe(leave)
        session.subscribe(seen.append)
        stream = session.stream()
        session.emit("a.B")
        session.emit("a.B")
        await asyncio.get_running_loop().run_in_executor(None, session.close)
        return [event.name async for event in stream]

    names = asyncio.run(asyncio.wait_for(main(), 20))
    assert names.count("a.B") == 2 and names[-1] == "SessionEnded"
    assert [event.name for event in seen].count("a.B") == 2
    assert session.stats()["subscriber_errors"] >= 2


def test_a_thread_that_ends_too_early_closes_streams(session, monkeypatch):
    monkeypatch.setattr(threading, "excepthook", lambda _: None)

    async def main():
        stream = session.stream()
        stream._delivery.deliver = lambda events: 1 / 0
        session.emit("a.B")
        return [event.name async for event in stream]

    assert asyncio.run(asyncio.wait_for(main(), 20)) == []
