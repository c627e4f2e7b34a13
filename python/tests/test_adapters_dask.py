"""Real Dask: tasks by the scheduler's plugin, workers by their heartbeats."""

from __future__ import annotations

import asyncio
import os
import time

import pytest
from adapter_helpers import open_session, states_of, tasks_of, wait_until

distributed = pytest.importorskip("distributed")

from distributed import Client, KilledWorker, LocalCluster

from kymograph.adapters.dask import DaskAdapter


def square(n: int) -> int:
    time.sleep(0.03)
    return n * n


def fail() -> None:
    raise ValueError("no")


def fail_once(path: str) -> int:
    if not os.path.exists(path):
        open(path, "w").close()
        raise OSError("not yet")
    return 1


def wait_for(path: str) -> None:
    until = time.monotonic() + 30
    while not os.path.exists(path) and time.monotonic() < until:
        time.sleep(0.02)


def die() -> None:
    os._exit(3)


@pytest.fixture(params=[False, True], ids=["threads", "processes"])
def client(request):
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=request.param, dashboard_address=None
    ) as cluster, Client(cluster) as client:
        client.processes = request.param
        yield client


def test_tasks_are_followed_from_creation_to_end(client, tmp_path):
    with open_session(tmp_path) as session:
        # Long enough between looks that no task is seen running: its worker tells at the end.
        with DaskAdapter(client, session, interval=60):
            futures = client.map(square, range(4))
            assert client.gather(futures) == [0, 1, 4, 9]
            keys = {future.key for future in futures}
            with pytest.raises(ValueError):
                client.submit(fail).result()
            broken = client.submit(fail, pure=False)
            with pytest.raises(ValueError):
                client.submit(square, broken).result()
    tasks = tasks_of(session)
    squares = [t for t in tasks["square"] if t.attributes["status"] == "completed"]
    assert {task.attributes["task_id"] for task in squares} == keys
    for task in squares:
        states = states_of(task)
        assert states["TaskSubmitted"] <= states["TaskQueued"] <= states["TaskStarted"]
        assert 0.025 < task.end_time - states["TaskStarted"] < 2
        assert task.attributes["backend"] == "dask"
    assert len({task.attributes["node_id"] for task in squares}) == 2
    assert {task.attributes["error_type"] for task in tasks["fail"]} == {"ValueError"}
    (dependent,) = [t for t in tasks["square"] if t.attributes["status"] == "failed"]
    assert dependent.attributes["error_type"] == "ValueError"
    assert "TaskStarted" not in states_of(dependent)


def test_a_retry_is_an_event_of_its_task(client, tmp_path):
    seen = []
    with open_session(tmp_path) as session:
        session.subscribe(seen.append)
        with DaskAdapter(client, session):
            assert client.submit(fail_once, str(tmp_path / "was"), retries=2).result() == 1
    (task,) = tasks_of(session)["fail_once"]
    assert task.attributes["status"] == "completed"
    (retry,) = [event for event in seen if event.name == "dask.Retry"]
    assert retry.task_id == task.attributes["task_id"]
    assert retry.attributes["attempt"] == 2 and retry.attributes["reason"] == "task-erred"


def test_a_task_that_runs_is_seen_running_and_can_be_canceled(client, tmp_path):
    seen = []
    gate = str(tmp_path / "gate")
    with open_session(tmp_path) as session:
        session.subscribe(seen.append)
        with DaskAdapter(client, session, interval=0.2):
            future = client.submit(wait_for, gate)
            started = wait_until(lambda: [e for e in seen if e.name == "TaskStarted"])[0]
            assert started.task_id == future.key
            future.cancel()
            wait_until(lambda: [e for e in seen if e.name == "TaskCanceled"])
        open(gate, "w").close()
    (task,) = tasks_of(session)["wait_for"]
    assert task.attributes["status"] == "canceled"


def test_every_worker_tells_cpu_memory_disk_and_network(client, tmp_path):
    with open_session(tmp_path) as session:
        with DaskAdapter(client, session, interval=0.3):
            full = wait_until(
                lambda: [one for one in session.resources() if "net_sent_bytes" in one.values]
            )
            wait_until(
                lambda: len([r for r in session.resources() if "net_sent_bytes" in r.values]) == 2
            )
            full = session.resources()
    workers = client.scheduler_info()["workers"].values()
    assert {one.node_id for one in full} == {f"{w['host']}/{w['name']}" for w in workers}
    for one in full:
        values = one.values
        assert one.backend == "dask" and one.gpu_id is None
        assert values["cpu_percent"] >= 0
        assert 0 < values["memory_percent"] < 100
        assert values["memory_used_bytes"] < values["memory_total_bytes"]
        for moved in ("disk_read_bytes", "disk_write_bytes", "net_sent_bytes", "net_recv_bytes"):
            assert values[moved] >= 0, moved


def test_tasks_lie_in_the_scope_of_the_adapter(client, tmp_path):
    with open_session(tmp_path) as session:
        with DaskAdapter(client, session) as adapter:
            with adapter.span("prepare", {"n": 1}) as span:
                future = client.submit(square, 7)
            future.result()
    assert tasks_of(session)["square"][0].parent_span_id == span.span_id


def test_nothing_stays_in_the_cluster(client, tmp_path):
    with open_session(tmp_path) as session:
        with DaskAdapter(client, session, interval=0.2) as adapter:
            client.submit(square, 1).result()
            name = adapter._name
            assert client.run_on_scheduler(lambda dask_scheduler: name in dask_scheduler.plugins)
        left = client.run_on_scheduler(
            lambda dask_scheduler: [
                one for one in dask_scheduler.plugins if one.startswith("kymograph")
            ]
        )
        assert left == []
        metrics = client.run(lambda dask_worker: "kymograph" in dask_worker.metrics)
        assert set(metrics.values()) == {False}
        client.submit(square, 2).result()
    assert len(tasks_of(session)["square"]) == 1


def test_tasks_of_other_clients_are_left_alone(client, tmp_path):
    with open_session(tmp_path) as session:
        with Client(client.scheduler.address, set_as_default=False) as other:
            with DaskAdapter(client, session):
                other.submit(square, 1, pure=False).result()
                client.submit(square, 2, pure=False).result()
            assert len(tasks_of(session)["square"]) == 1
            with DaskAdapter(client, session, all_clients=True):
                other.submit(square, 3, pure=False).result()
    assert len(tasks_of(session)["square"]) == 2


def test_a_task_that_kills_its_workers_fails(tmp_path):
    with LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster, Client(cluster) as client, open_session(tmp_path) as session:
        seen = []
        session.subscribe(seen.append)
        with DaskAdapter(client, session):
            with pytest.raises(KilledWorker):
                client.submit(die).result(timeout=60)
        (task,) = tasks_of(session)["die"]
        assert task.attributes["error_type"] == "KilledWorker"
        assert any(event.name == "dask.Retry" for event in seen)


def test_an_asynchronous_client_works_with_async_with(tmp_path):
    async def main(session):
        async with LocalCluster(
            n_workers=1, processes=False, dashboard_address=None, asynchronous=True
        ) as cluster, Client(cluster, asynchronous=True) as client:
            with pytest.raises(TypeError, match="async with"):
                with DaskAdapter(client, session):
                    pass
            async with DaskAdapter(client, session, interval=0.2):
                assert await client.submit(square, 3) == 9
                for _ in range(100):
                    if session.resources():
                        break
                    await asyncio.sleep(0.05)

    with open_session(tmp_path) as session:
        asyncio.run(main(session))
    assert len(tasks_of(session)["square"]) == 1
    assert session.resources()[0].values["cpu_percent"] >= 0


def test_intervals_that_cannot_work_are_refused(tmp_path):
    class Nobody:
        id = "nobody"

    with pytest.raises(ValueError, match="0.1 seconds or more"):
        DaskAdapter(Nobody(), None, interval=0)


def test_leaving_waits_for_tasks_that_run(tmp_path):
    with LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster, Client(cluster) as client, open_session(tmp_path) as session:
        with DaskAdapter(client, session, interval=60):
            futures = client.map(square, range(5))
        assert len(tasks_of(session)["square"]) == 5
        assert {task.attributes["status"] for task in tasks_of(session)["square"]} == {"completed"}
        began = time.monotonic()
        with DaskAdapter(client, session, interval=60, drain=0.2):
            path = str(tmp_path / "go")
            waiting = client.submit(wait_for, path)
        assert time.monotonic() - began < 10
        open(path, "w").close()
        waiting.result()
        assert client.gather(futures) == [0, 1, 4, 9, 16]


def plugins_of(dask_scheduler) -> list[str]:
    return [name for name in dask_scheduler.plugins if name.startswith("kymograph")]


def test_leaving_waits_for_no_task_from_before(tmp_path):
    with LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster, Client(cluster) as client, open_session(tmp_path) as session:
        path = str(tmp_path / "go")
        waiting = client.submit(wait_for, path)
        began = time.monotonic()
        with DaskAdapter(client, session, interval=60, drain=20):
            pass
        assert time.monotonic() - began < 10
        open(path, "w").close()
        waiting.result()


def test_an_interrupt_while_it_waits_leaves_nothing_in_the_cluster(tmp_path):
    def interrupt():
        raise KeyboardInterrupt

    with LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster, Client(cluster) as client, open_session(tmp_path) as session:
        with pytest.raises(KeyboardInterrupt):
            with DaskAdapter(client, session, interval=60) as adapter:
                adapter._has_pending = interrupt
        assert client.run_on_scheduler(plugins_of) == []


def test_a_cancellation_while_it_waits_leaves_nothing_in_the_cluster(tmp_path):
    async def main(session):
        path = str(tmp_path / "go")
        async with LocalCluster(
            n_workers=1, processes=False, dashboard_address=None, asynchronous=True
        ) as cluster, Client(cluster, asynchronous=True) as client:
            is_leaving = asyncio.Event()

            async def follow():
                async with DaskAdapter(client, session, interval=60, drain=60):
                    waiting = client.submit(wait_for, path)
                    is_leaving.set()
                return waiting

            following = asyncio.create_task(follow())
            await is_leaving.wait()
            await asyncio.sleep(0.1)
            following.cancel()
            with pytest.raises(asyncio.CancelledError):
                await following
            assert await client.run_on_scheduler(plugins_of) == []
            open(path, "w").close()

    with open_session(tmp_path) as session:
        asyncio.run(main(session))


def test_a_cluster_that_is_gone_replaces_no_error(tmp_path, caplog):
    with open_session(tmp_path) as session:
        with LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster:
            client = Client(cluster)
            with pytest.raises(KeyError, match="mine"):
                with DaskAdapter(client, session, interval=60):
                    client.close()
                    raise KeyError("mine")
    assert "could not follow Dask to the end" in caplog.text
