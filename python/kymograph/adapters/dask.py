"""Tasks and workers of Dask, in a session.

    with kymograph.session("train") as session, Client() as client:
        with DaskAdapter(client, session):
            client.gather(client.map(work, range(100)))

A plugin in the scheduler tells of every task that this client submits while the adapter is on:
created, queued, started, completed, failed, canceled. The task's id is Dask's key, its name the
key's prefix, its node the worker. Start and end are measured by the worker; a task that runs long
is shown as started as soon as its worker's heartbeat says so. An attempt that is lost (an error
with `retries` left, a worker that died) is an event `dask.Retry` of the task.

Every interval each worker gives a `ResourceUpdate`: CPU in percent of one core as Dask counts it
(a worker with four busy threads has 400), memory of the worker's process against its limit, bytes
that this process read and wrote, bytes over the network of its whole host.

Nothing needs to be installed on the scheduler or the workers. What is not followed: tasks that were
submitted before the adapter was on, and those of other clients unless `all_clients` is set. Leaving
the adapter waits a few seconds for tasks that run, but not if it is left by an exception; a cluster
that is gone by then is logged, and nothing is raised.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable

from ._dask_plugins import scheduler_plugin, worker_plugin

if TYPE_CHECKING:
    from distributed import Client

    from .._core import OpenSpan
    from ..session import Session, Task

__all__ = ["DaskAdapter"]

logger = logging.getLogger(__name__)

#: How long leaving the adapter waits for records that are under way.
FLUSH_SECONDS = 10.0
#: How long leaving the adapter waits for tasks that run, unless it is told.
DRAIN_SECONDS = 5.0
#: How often it is looked meanwhile.
LOOK_SECONDS = 0.02
#: Of how many ended tasks the key is remembered, to tell a second run from the first.
REMEMBERED_KEYS = 100_000


class DaskAdapter:
    """Follows a client's tasks and its cluster's workers. Use with `with`, or with `async with` if
    the client is asynchronous."""

    def __init__(
        self,
        client: Client,
        session: Session,
        interval: float = 5.0,
        *,
        backend: str = "dask",
        all_clients: bool = False,
        drain: float = DRAIN_SECONDS,
    ) -> None:
        """`interval` is the time in seconds between looks at the workers; `drain` is how many
        seconds leaving waits for tasks that run (not if it is left by an exception)."""
        if interval < 0.1:
            raise ValueError(f"interval is {interval}: expected 0.1 seconds or more")
        self._client: Any = client
        self._session = session
        self._name = f"kymograph-{uuid.uuid4().hex[:8]}"
        self._follow = None if all_clients else client.id
        self._interval = interval
        self._drain = drain
        self._records = _Records(session, backend)
        #: The client's futures from before the adapter was on.
        self._before: set[Any] = set()

    def __enter__(self) -> DaskAdapter:
        if self._client.asynchronous:
            raise TypeError("the client is asynchronous: use `async with`")
        for plugin in self._begin():
            self._client.register_plugin(plugin)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            for pause in self._pauses(error):
                time.sleep(pause)
            token, say_it = self._last_words()
            self._client.run_on_scheduler(say_it)
            self._records.wait(token)
        except Exception:
            _log_leaving()
        finally:
            for undo in self._undo():
                try:
                    undo()
                except Exception:
                    _log_leaving()

    async def __aenter__(self) -> DaskAdapter:
        for plugin in self._begin():
            await self._client.register_plugin(plugin)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            for pause in self._pauses(error):
                await asyncio.sleep(pause)
            token, say_it = self._last_words()
            await self._client.run_on_scheduler(say_it)
            await asyncio.to_thread(self._records.wait, token)
        except Exception:
            _log_leaving()
        finally:
            for undo in self._undo():
                try:
                    done = undo()
                    if done is not None:
                        await done
                except Exception:
                    _log_leaving()

    def _begin(self) -> tuple[Any, Any]:
        """Listens to what plugins will tell, and gives these, to be registered."""
        self._before = set(self._client.futures.values())
        self._client.subscribe_topic(self._name, self._records.take)
        scheduler = scheduler_plugin(self._name, self._name, self._follow, self._interval)
        return worker_plugin(self._name), scheduler

    def _pauses(self, error: BaseException | None) -> Iterator[float]:
        """How long to sleep, again and again, until tasks have ended or it is late. Whoever leaves
        by an error does not wait."""
        until = time.monotonic() + self._drain
        while error is None and self._has_pending() and time.monotonic() < until:
            yield LOOK_SECONDS

    def _has_pending(self) -> bool:
        """Whether the client has futures that are followed and not done. The client knows what it
        submitted before the scheduler does, and of an end only after the scheduler's plugin."""
        known = list(self._client.futures.values())
        return any(one.status == "pending" and one not in self._before for one in known)

    def _last_words(self) -> tuple[str, Any]:
        """A token, and the function by which the scheduler sends it after all records. It is made
        here so that it is pickled by value."""
        name, client_id, token = self._name, self._client.id, uuid.uuid4().hex

        def flush(dask_scheduler: Any) -> None:
            # Of an adapter that is left at once, the subscription may still be under way.
            dask_scheduler.subscribe_topic(name, client_id)
            plugin = dask_scheduler.plugins[name]
            plugin.flush(token)
            plugin.stop()

        return token, flush

    def _undo(self) -> list[Callable[[], Any]]:
        """What takes the adapter out of the cluster, one after the other."""
        return [
            lambda: self._client.unregister_scheduler_plugin(self._name),
            lambda: self._client.unregister_worker_plugin(self._name),
            lambda: self._client.unsubscribe_topic(self._name),
        ]

    @contextmanager
    def span(self, name: str, attributes: dict[str, Any] | None = None) -> Iterator[OpenSpan]:
        """A scope of the session; tasks that are submitted in it lie below it."""
        import dask

        with self._session.span(name, attributes) as span:
            with dask.annotate(kymograph_parent=span.span_id):
                yield span


def _log_leaving() -> None:
    """Inside an ``except``. What the program does next is none of the adapter's business."""
    logger.warning("could not follow Dask to the end; tasks may lack theirs", exc_info=True)


class _Records:
    """Turns what the scheduler sends into events of the session."""

    def __init__(self, session: Session, backend: str) -> None:
        self._session = session
        self._backend = backend
        self._tasks: dict[str, _Followed] = {}
        self._runs: OrderedDict[str, int] = OrderedDict()
        self._counters: dict[str, dict[str, int]] = {}
        self._tokens: set[str] = set()
        self._arrived = threading.Condition()

    def wait(self, token: str) -> bool:
        """Waits until everything up to the token has come."""
        with self._arrived:
            return self._arrived.wait_for(lambda: token in self._tokens, FLUSH_SECONDS)

    def take(self, message: tuple[float, list[list[Any]]]) -> None:
        """Handles one message."""
        for kind, *fields in message[1]:
            getattr(self, f"_{kind}")(*fields)

    def _flushed(self, token: str) -> None:
        with self._arrived:
            self._tokens.add(token)
            self._arrived.notify_all()

    def _created(self, key: str, time: float, prefix: str, parent: str | None) -> None:
        run = self._runs.pop(key, 0) + 1
        self._runs[key] = run
        if len(self._runs) > REMEMBERED_KEYS:
            self._runs.popitem(last=False)
        task = self._session.create_task(
            prefix,
            id=key if run == 1 else f"{key}#{run}",
            backend=self._backend,
            task_type="dask",
            executable=prefix,
            parent=parent,
            time=time,
        )
        task.submitted(time=time)
        self._tasks[key] = _Followed(task)

    def _queued(self, key: str, time: float) -> None:
        if (followed := self._tasks.get(key)) is not None and followed.queued_at is None:
            followed.queued_at = time
            followed.task.queued(time=time)

    def _started(self, key: str, time: float, worker: str | None) -> None:
        if (followed := self._tasks.get(key)) is not None:
            followed.start(time, worker)

    def _completed(
        self, key: str, time: float, start: float | None, stop: float | None, worker: str | None
    ) -> None:
        if (followed := self._tasks.pop(key, None)) is not None:
            followed.task.completed(time=followed.ran(time, start, stop, worker))

    def _failed(
        self,
        key: str,
        time: float,
        start: float | None,
        stop: float | None,
        worker: str | None,
        text: str,
    ) -> None:
        if (followed := self._tasks.pop(key, None)) is not None:
            end = followed.ran(time, start, stop, worker)
            followed.task.failed(text.partition("(")[0] or "unknown", text, time=end)

    def _canceled(self, key: str, time: float) -> None:
        if (followed := self._tasks.pop(key, None)) is not None:
            followed.task.canceled(time=time)

    def _again(self, key: str, time: float, reason: str) -> None:
        if (followed := self._tasks.get(key)) is not None:
            followed.attempt += 1
            # Dask's reasons end in the time: task-erred-1794907105.5146024
            self._session.emit(
                "dask.Retry",
                task_id=followed.task.id,
                backend=self._backend,
                time=time,
                attempt=followed.attempt,
                reason=reason.rstrip("0123456789.").rstrip("-"),
            )

    def _resources(self, time: float, workers: list[dict[str, Any]]) -> None:
        before, self._counters = self._counters, {}
        for sample in workers:
            worker = sample.pop("worker")
            counters = sample.pop("counters") or {}
            self._counters[worker] = counters
            for name, value in counters.items():
                if name in before.get(worker, {}):
                    sample[name] = max(value - before[worker][name], 0)
            if sample["memory_total_bytes"] and sample["memory_used_bytes"] is not None:
                used = sample["memory_used_bytes"] / sample["memory_total_bytes"]
                sample["memory_percent"] = 100 * used
            known = {name: value for name, value in sample.items() if value is not None}
            self._session.resource_update(worker, backend=self._backend, time=time, **known)


class _Followed:
    """A task that has not ended."""

    __slots__ = ("task", "queued_at", "is_started", "attempt")

    def __init__(self, task: Task) -> None:
        self.task = task
        self.queued_at: float | None = None
        self.is_started = False
        self.attempt = 1

    def start(self, time: float, worker: str | None) -> None:
        if not self.is_started:
            self.is_started = True
            self.task.started(worker, time=max(time, self.queued_at or 0.0))

    def ran(
        self, told: float, start: float | None, stop: float | None, worker: str | None
    ) -> float:
        """Says when it started, unless that is known, and gives the time of its end.

        Dask corrects the worker's clock by an estimate that is some milliseconds off, so a task
        may seem to end after the scheduler knew of it. The duration is right: both are moved.
        """
        if start is None or stop is None:
            return told
        late = max(stop - told, 0.0)
        self.start(start - late, worker)
        return max(stop - late, self.queued_at or 0.0)
