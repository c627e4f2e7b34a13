"""Pools and processes of `multiprocessing`, with any start method.

    with TracedPool(session, 4, context="spawn") as pool:
        results = pool.map(work, range(100))

    process = TracedProcess(session, target=work, args=(3,))
    process.start()
    process.join()

Start and end of what runs are measured in the child. A call of a pool is a task; so is a process.
A process that exits with another code than 0, or by a signal, fails its task (`ExitCode`,
`SIGKILL`); the calls of a pool whose worker is killed fail likewise, where `multiprocessing.Pool`
would let them wait for ever. The task's span is current in the child: as OpenTelemetry's context
and as `TRACEPARENT`.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed, wait
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable

from .._values import text_of
from ._carrier import Run, carrier_of, continued, name_of, ran_since, tell_start
from .futures import TracedExecutor

if TYPE_CHECKING:
    from multiprocessing.context import BaseContext

    from ..session import Session

__all__ = ["TracedPool", "TracedProcess"]


class TracedPool:
    """A pool of processes with `multiprocessing.Pool`'s methods: `apply`, `apply_async`, `map`,
    `map_async`, `starmap`, `imap`, `imap_unordered`.

    Each call of the function is a task, so there is no `chunksize`. Underneath is an executor of
    `concurrent.futures`, which notices workers that die. `apply_async` and `map_async` give futures
    (`result()`), not `AsyncResult`s.
    """

    def __init__(
        self,
        session: Session,
        processes: int | None = None,
        initializer: Callable[..., Any] | None = None,
        initargs: tuple[Any, ...] = (),
        *,
        context: str | BaseContext | None = None,
    ) -> None:
        """`context` is a start method (`spawn`, `fork`, `forkserver`) or a context."""
        method = multiprocessing.get_context(context) if isinstance(context, str) else context
        executor = ProcessPoolExecutor(processes, method, initializer, initargs)
        self._executor = TracedExecutor(executor, session, backend="multiprocessing")
        #: Calls that have not ended. An executor that was shut down once does not wait any more.
        self._pending: set[Future[Any]] = set()
        #: Whether it was: doing it again would take back that what waits is canceled.
        self._is_shut_down = False

    def _submit(self, func: Callable[..., Any], /, *args: Any, **kwds: Any) -> Future[Any]:
        future = self._executor.submit(func, *args, **kwds)
        self._pending.add(future)
        future.add_done_callback(self._pending.discard)
        return future

    def apply(
        self, func: Callable[..., Any], args: Iterable[Any] = (), kwds: dict[str, Any] | None = None
    ) -> Any:
        """Calls it in a worker and waits."""
        return self.apply_async(func, args, kwds).result()

    def apply_async(
        self, func: Callable[..., Any], args: Iterable[Any] = (), kwds: dict[str, Any] | None = None
    ) -> Future[Any]:
        """Calls it in a worker."""
        return self._submit(func, *args, **(kwds or {}))

    def map(self, func: Callable[..., Any], iterable: Iterable[Any]) -> list[Any]:
        """Calls it with each, and waits for all."""
        return list(self.imap(func, iterable))

    def map_async(self, func: Callable[..., Any], iterable: Iterable[Any]) -> list[Future[Any]]:
        """Calls it with each."""
        return [self._submit(func, one) for one in iterable]

    def starmap(self, func: Callable[..., Any], iterable: Iterable[Iterable[Any]]) -> list[Any]:
        """Calls it with the members of each, and waits for all."""
        return [one.result() for one in [self._submit(func, *each) for each in iterable]]

    def imap(self, func: Callable[..., Any], iterable: Iterable[Any]) -> Iterator[Any]:
        """Results in the order of what was given."""
        futures = self.map_async(func, iterable)
        return (one.result() for one in futures)

    def imap_unordered(self, func: Callable[..., Any], iterable: Iterable[Any]) -> Iterator[Any]:
        """Results as they come."""
        return (one.result() for one in as_completed(self.map_async(func, iterable)))

    def close(self) -> None:
        """No more calls."""
        self._shut_down(wait=False)

    def terminate(self) -> None:
        """No more calls, and those that wait are canceled; those that run are not interrupted."""
        self._is_shut_down = True
        self._executor.shutdown(wait=False, cancel_futures=True)

    def join(self) -> None:
        """Waits for what runs, and for what waits unless it was canceled."""
        self._shut_down(wait=True)
        wait(list(self._pending))

    def _shut_down(self, wait: bool) -> None:
        if not self._is_shut_down:
            self._is_shut_down = True
            self._executor.shutdown(wait=wait)

    def __enter__(self) -> TracedPool:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            self.terminate()
        self.join()


#: How often it is looked whether a process lives, where its end may not be seen: children of its
#: own have what it had open, and may outlive it.
LOOK_EVERY_SECONDS = 0.2


class TracedProcess:
    """A process, as one task. Takes what `multiprocessing.Process` does, and has its methods."""

    def __init__(
        self,
        session: Session,
        target: Callable[..., Any],
        args: Iterable[Any] = (),
        kwargs: dict[str, Any] | None = None,
        *,
        name: str | None = None,
        daemon: bool | None = None,
        context: str | BaseContext | None = None,
    ) -> None:
        """`context` is a start method (`spawn`, `fork`, `forkserver`) or a context."""
        method = (
            multiprocessing.get_context(context) if context is None or isinstance(context, str)
            else context
        )
        called = name_of(target)
        self._session = session
        self._task = session.create_task(
            name or called, backend="multiprocessing", executable=called, task_type="process"
        )
        self._home, away = method.Pipe(duplex=False)
        self._away = away
        arguments = (away, carrier_of(self._task), target, tuple(args), kwargs or {})
        self._process = method.Process(  # type: ignore[attr-defined]
            target=_run_there, args=arguments, name=name, daemon=daemon
        )
        self._watch: threading.Thread | None = None

    def start(self) -> None:
        """Starts it."""
        self._task.submitted()
        try:
            self._process.start()
        except BaseException as error:
            self._task.failed(error)
            raise
        self._task.queued()
        # The child has its own: when that is closed, nothing more comes.
        self._away.close()
        self._watch = threading.Thread(target=self._follow, name="kymograph-process", daemon=True)
        self._watch.start()

    def join(self, timeout: float | None = None) -> None:
        """Waits until it has ended, and its task has."""
        if self._watch is None:
            raise RuntimeError("can only join a process that was started")
        self._watch.join(timeout)

    def __getattr__(self, name: str) -> Any:
        # pid, exitcode, is_alive(), terminate(), kill(), …
        return getattr(self._process, name)

    def _follow(self) -> None:
        """Takes what the child tells, then looks how it ended."""
        failed: tuple[str, str] | None = None
        stop: float | None = None
        for told in self._told():
            if told[0] == "started":
                tell_start(self._session, self._task, *told[1:])
            else:
                _, failed, stop = told
        # Where another thread has just taken the exit code, it is there in a moment.
        while (code := self._process.exitcode) is None:
            time.sleep(0.001)
        if failed is not None:
            self._task.failed(failed[0], failed[1], time=stop)
        elif code:
            error_type, message = _ended_by(code)
            self._task.failed(error_type, message)
        else:
            self._task.completed(time=stop)

    def _told(self) -> Iterator[tuple[Any, ...]]:
        """What the child tells, until it has ended."""
        sentinel = self._process.sentinel
        open_ends: list[Any] = [self._home, sentinel]
        has_ended = False
        while True:
            ready = multiprocessing.connection.wait(
                open_ends, 0.0 if has_ended else LOOK_EVERY_SECONDS
            )
            if self._home in ready:
                try:
                    yield self._home.recv()
                    continue
                except (EOFError, OSError):
                    open_ends.remove(self._home)
            if has_ended:
                return
            # Once more, for what it told just before.
            has_ended = sentinel in ready or not self._process.is_alive()


def _ended_by(code: int) -> tuple[str, str]:
    if code > 0:
        return "ExitCode", f"exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return name, f"ended by {name}"


def _run_there(
    away: Any,
    carrier: dict[str, str],
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> None:
    """The child's main function."""
    run: Run = ran_since(time.time())
    away.send(("started", run.start, run.node_id, run.process_id))
    failed = None
    try:
        with continued(carrier):
            target(*args, **kwargs)
    except SystemExit:
        raise  # the exit code tells
    except BaseException as error:
        failed = (type(error).__name__, text_of(error))
        raise
    finally:
        away.send(("ended", failed, time.time()))
        away.close()
