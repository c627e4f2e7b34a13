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
from concurrent.futures import Future, ProcessPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable

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

    def apply(
        self, func: Callable[..., Any], args: Iterable[Any] = (), kwds: dict[str, Any] | None = None
    ) -> Any:
        """Calls it in a worker and waits."""
        return self.apply_async(func, args, kwds).result()

    def apply_async(
        self, func: Callable[..., Any], args: Iterable[Any] = (), kwds: dict[str, Any] | None = None
    ) -> Future[Any]:
        """Calls it in a worker."""
        return self._executor.submit(func, *args, **(kwds or {}))

    def map(self, func: Callable[..., Any], iterable: Iterable[Any]) -> list[Any]:
        """Calls it with each, and waits for all."""
        return list(self.imap(func, iterable))

    def map_async(self, func: Callable[..., Any], iterable: Iterable[Any]) -> list[Future[Any]]:
        """Calls it with each."""
        return [self._executor.submit(func, one) for one in iterable]

    def starmap(self, func: Callable[..., Any], iterable: Iterable[Iterable[Any]]) -> list[Any]:
        """Calls it with the members of each, and waits for all."""
        return [one.result() for one in [self._executor.submit(func, *each) for each in iterable]]

    def imap(self, func: Callable[..., Any], iterable: Iterable[Any]) -> Iterator[Any]:
        """Results in the order of what was given."""
        futures = self.map_async(func, iterable)
        return (one.result() for one in futures)

    def imap_unordered(self, func: Callable[..., Any], iterable: Iterable[Any]) -> Iterator[Any]:
        """Results as they come."""
        from concurrent.futures import as_completed

        return (one.result() for one in as_completed(self.map_async(func, iterable)))

    def close(self) -> None:
        """No more calls."""
        self._executor.shutdown(wait=False)

    def terminate(self) -> None:
        """No more calls, and those that wait are canceled; those that run are not interrupted."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    def join(self) -> None:
        """Waits for what runs."""
        self._executor.shutdown(wait=True)

    def __enter__(self) -> TracedPool:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._executor.shutdown(wait=True, cancel_futures=error is not None)


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
        sentinel = self._process.sentinel
        while self._home in multiprocessing.connection.wait([self._home, sentinel]):
            try:
                told = self._home.recv()
            except (EOFError, OSError):
                multiprocessing.connection.wait([sentinel])
                break
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
        failed = (type(error).__name__, str(error))
        raise
    finally:
        away.send(("ended", failed, time.time()))
        away.close()
