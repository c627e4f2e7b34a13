"""Tasks of asyncio, as tasks of a session.

    async with kymograph.session("crawl") as session:
        with instrument(session):
            async with asyncio.TaskGroup() as group:
                group.create_task(fetch(url), name="fetch")

:func:`instrument` sets the loop's task factory, so whatever makes tasks (`asyncio.create_task`,
`gather`, `TaskGroup`, libraries) makes tasks of the session. :func:`create_task` and :func:`gather`
do it for chosen ones alone. A task starts when its coroutine first runs; a cancellation cancels
it. Inside, its span is the current one, so that tasks which it makes lie below it.
"""

from __future__ import annotations

import asyncio
import inspect
import re
import time
from collections.abc import Awaitable, Coroutine, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..session import Session, Task

__all__ = ["create_task", "gather", "instrument", "task_factory"]

#: What asyncio calls tasks that nobody named.
_BY_NUMBER = re.compile(r"Task-\d+")


def create_task(
    session: Session,
    coroutine: Coroutine[Any, Any, Any],
    *,
    name: str | None = None,
    backend: str = "asyncio",
) -> asyncio.Task[Any]:
    """As `asyncio.create_task`, and a task of the session, called `name` or as the coroutine."""
    # Where the loop is instrumented, its factory has done it.
    loop = asyncio.get_running_loop()
    if isinstance(loop.get_task_factory(), _Factory):
        return loop.create_task(coroutine, **_named(name))
    return _follow(session, loop, None, coroutine, name, backend, _named(name))


async def gather(
    session: Session,
    *awaitables: Awaitable[Any],
    return_exceptions: bool = False,
    name: str | None = None,
) -> list[Any]:
    """As `asyncio.gather`: every coroutine is a task of the session."""
    tasks = [
        create_task(session, one, name=name) if inspect.iscoroutine(one) else one
        for one in awaitables
    ]
    return await asyncio.gather(*tasks, return_exceptions=return_exceptions)


@contextmanager
def instrument(
    session: Session, *, loop: asyncio.AbstractEventLoop | None = None, backend: str = "asyncio"
) -> Iterator[None]:
    """While the `with` lasts, every task of the loop is a task of the session.

    A factory that was set before still makes the tasks, and is set again at the end.
    """
    loop = loop or asyncio.get_running_loop()
    before = loop.get_task_factory()
    loop.set_task_factory(task_factory(session, before, backend=backend))
    try:
        yield
    finally:
        loop.set_task_factory(before)


def task_factory(session: Session, inner: Any = None, *, backend: str = "asyncio") -> Any:
    """A factory for `loop.set_task_factory`; `inner` is one that makes the tasks in its place."""
    return _Factory(session, inner, backend)


class _Factory:
    def __init__(self, session: Session, inner: Any, backend: str) -> None:
        self._session = session
        self._inner = inner
        self._backend = backend

    def __call__(
        self, loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any
    ) -> asyncio.Task[Any]:
        name = options.get("name")
        return _follow(
            self._session, loop, self._inner, coroutine, name, self._backend, options
        )


def _follow(
    session: Session,
    loop: asyncio.AbstractEventLoop,
    factory: Any,
    coroutine: Any,
    name: str | None,
    backend: str,
    options: dict[str, Any],
) -> asyncio.Task[Any]:
    followed = _Followed(session, coroutine, name, backend)
    running: Any = followed.run()
    # So that reprs and debuggers show what runs.
    running.__name__ = followed.called
    running.__qualname__ = getattr(coroutine, "__qualname__", followed.called)
    made: asyncio.Task[Any] = (
        asyncio.Task(running, loop=loop, **options)
        if factory is None
        else factory(loop, running, **options)
    )
    made.add_done_callback(followed.end)
    return made


class _Followed:
    """A task of a loop. It is told when it first runs: until then loops may still name it."""

    def __init__(self, session: Session, coroutine: Any, name: str | None, backend: str) -> None:
        self._session = session
        self._coroutine = coroutine
        self._name = name
        self._backend = backend
        self._made_at = time.time()
        self.called = getattr(coroutine, "__name__", type(coroutine).__name__)
        self._is_told = False

    def _tell(self, made: asyncio.Task[Any] | None) -> Task:
        self._is_told = True
        name = self._name
        if name is None and made is not None and not _BY_NUMBER.fullmatch(made.get_name()):
            name = made.get_name()
        task = self._session.create_task(
            name or self.called,
            backend=self._backend,
            executable=self.called,
            task_type="asyncio",
            time=self._made_at,
        )
        task.submitted(time=self._made_at)
        task.queued(time=self._made_at)
        return task

    async def run(self) -> Any:
        task = self._tell(asyncio.current_task())
        task.started()
        try:
            with task.context():
                result = await self._coroutine
        except asyncio.CancelledError:
            task.canceled()
            raise
        except BaseException as error:
            task.failed(error)
            raise
        task.completed()
        return result

    def end(self, made: asyncio.Task[Any]) -> None:
        if not self._is_told:  # canceled before its first step: the coroutine never ran
            self._tell(made).canceled()
            if inspect.iscoroutine(self._coroutine):
                self._coroutine.close()


def _named(name: str | None) -> dict[str, Any]:
    return {} if name is None else {"name": name}
