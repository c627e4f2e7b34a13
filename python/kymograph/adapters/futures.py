"""Executors of `concurrent.futures`: every call that is submitted is a task.

    with TracedExecutor(ThreadPoolExecutor(4), session) as pool:
        results = list(pool.map(work, range(100)))

A task is created, submitted and queued when it is submitted, starts when the function really does,
and ends with it. In a pool of threads that is told as it happens. In a pool of processes (and in
any executor that is not a pool of threads) the worker measures, and start and end come back with
the result. A future that is canceled cancels its task; a pool that breaks fails those in it.

The task's span is current inside the function. In threads so is everything else of the submitter's
context (`contextvars`); other processes have OpenTelemetry's context and `TRACEPARENT`.
"""

from __future__ import annotations

import contextvars
import os
import socket
from concurrent.futures import (
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, TypeVar

from ._carrier import call_there, carrier_of, name_of, run_of, tell_start

if TYPE_CHECKING:
    from ..session import Session, Task

__all__ = ["TracedExecutor"]

Result = TypeVar("Result")


class TracedExecutor(Executor):
    """An executor around another one."""

    def __init__(
        self,
        executor: Executor,
        session: Session,
        *,
        backend: str | None = None,
        name: str | None = None,
    ) -> None:
        """`backend` is `threads` or `processes`, or the executor's class, unless given; `name` is
        the function's, for each task."""
        self._executor = executor
        self._session = session
        self._is_here = isinstance(executor, ThreadPoolExecutor)
        self._name = name
        if backend is None:
            kinds = {ThreadPoolExecutor: "threads", ProcessPoolExecutor: "processes"}
            backend = kinds.get(type(executor), type(executor).__name__)
        self._backend = backend

    def submit(
        self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any
    ) -> Future[Result]:
        """As :meth:`concurrent.futures.Executor.submit`."""
        called = name_of(fn)
        task = self._session.create_task(
            self._name or called,
            backend=self._backend,
            executable=called,
            task_type="future",
        )
        task.submitted()
        try:
            if self._is_here:
                context = contextvars.copy_context()
                inner = self._executor.submit(
                    context.run, _call_here, self._session, task, fn, *args, **kwargs
                )
            else:
                inner = self._executor.submit(call_there, carrier_of(task), fn, *args, **kwargs)
        except BaseException as error:  # it is shut down, or broken
            task.failed(error)
            raise
        task.queued()
        if self._is_here:
            inner.add_done_callback(lambda future: _end_here(task, future))
            return inner
        outer: _Outer = _Outer(inner)
        inner.add_done_callback(lambda future: _come_home(self._session, task, future, outer))
        return outer

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """As :meth:`concurrent.futures.Executor.shutdown`."""
        self._executor.shutdown(wait=wait, cancel_futures=cancel_futures)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        return self._executor.__exit__(kind, error, trace)


def _call_here(
    session: Session, task: Task, function: Callable[..., Any], /, *args: Any, **kwargs: Any
) -> Any:
    import time

    tell_start(session, task, time.time(), socket.gethostname(), os.getpid())
    try:
        with task.context():
            result = function(*args, **kwargs)
    except CancelledError:
        task.canceled()
        raise
    except BaseException as error:
        task.failed(error)
        raise
    task.completed()
    return result


def _end_here(task: Task, future: Future[Any]) -> None:
    if future.cancelled():
        task.canceled()
        return
    error = future.exception()
    # What came before the function: it was never called, and has told nothing.
    if error is not None and not task.has_ended:
        task.failed(error)


class _Outer(Future):  # type: ignore[type-arg]
    """What the caller holds while another process computes: the result without its times."""

    def __init__(self, inner: Future[Any]) -> None:
        super().__init__()
        self._inner = inner

    def cancel(self) -> bool:
        # The inner one knows whether it has begun; its callback cancels this one.
        return self._inner.cancel() or self.cancelled()

    def running(self) -> bool:
        return self._inner.running()


def _come_home(session: Session, task: Task, inner: Future[Any], outer: _Outer) -> None:
    if inner.cancelled():
        task.canceled()
        Future.cancel(outer)
        outer.set_running_or_notify_cancel()
        return
    outer.set_running_or_notify_cancel()
    error = inner.exception()
    if error is None:
        run, result = inner.result()
        run.tell(session, task)
        task.completed(time=run.stop)
        outer.set_result(result)
        return
    run = run_of(error)
    if run is not None:
        run.tell(session, task)
    stop = None if run is None else run.stop
    if isinstance(error, CancelledError):
        task.canceled(time=stop)
    else:
        task.failed(error, time=stop)
    outer.set_exception(error)
