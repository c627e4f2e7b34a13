"""Sessions: telemetry inside a program.

    import kymograph

    with kymograph.session("train") as s:
        @s.task
        def step(n):
            return n * n

        step(3)
    print(s.summary())

The core is Rust (``kymograph._core``): calls put events into a bounded queue; one thread writes the
checkpoint and keeps instruments and spans. :class:`Session` adds what belongs
to Python: ``with``, decorators, the current span of a context, event loops.

What a session promises: a call costs microseconds and, once the session has begun, does not fail
because of what it is told: text that is no Unicode is replaced, what has no text is
``<unprintable>``, and a time that is none is now. Only what is wrong in the program itself raises:
a type, a parent or the name of an event that cannot be. After the session's end, and in the child
of a fork, a call does nothing. A session that nobody closes is closed when the interpreter ends.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import functools
import inspect
import logging
import os
import threading
import time as clock
from typing import Any, Callable, Dict, List, Mapping, Optional, Set, TypeVar, Union, overload

from . import _core
from ._context import Current, active_traceparent
from ._subscribe import Delivery, LoopDelivery, Stream, Subscribers, Subscription
from ._values import seconds, text_of
from .events import EventValue
from .records import RESOURCE_FIELDS, MetricPoint, Records, Resource, Span, SpanEvent

Function = TypeVar("Function", bound=Callable[..., Any])
Task = _core.Task

#: How long closing waits for the queue to be empty, in all, at the end of the interpreter.
EXIT_SECONDS = 5.0

_log = logging.getLogger("kymograph")

#: What ends a task as canceled.
_CANCELED = (asyncio.CancelledError, concurrent.futures.CancelledError)

#: Sessions that have begun and not ended: they are held until somebody closes them.
_open: Set["Session"] = set()
_lock = threading.Lock()


class Session(_core.Session):
    """A session, made by :func:`kymograph.session`."""

    def __init__(self, *_arguments: Any, **_options: Any) -> None:
        self._current: List[Current] = []
        #: What adapters still wait for; see :meth:`_wait_before_end`.
        self._waits: List[Callable[[float], Any]] = []
        self._subscribers = Subscribers(self._channel)
        # pyo3 classes compare by identity, so sessions can be members of sets.
        with _lock:
            _open.add(self)

    # Tasks. create_task() is the core's.

    @overload
    def task(self, function: Function) -> Function: ...

    @overload
    def task(
        self,
        function: None = None,
        *,
        name: Optional[str] = None,
        task_type: Optional[str] = None,
        backend: Optional[str] = None,
        attributes: Optional[Mapping[str, Any]] = None,
    ) -> Callable[[Function], Function]: ...

    def task(
        self,
        function: Optional[Function] = None,
        *,
        name: Optional[str] = None,
        task_type: Optional[str] = None,
        backend: Optional[str] = None,
        attributes: Optional[Mapping[str, Any]] = None,
    ) -> Any:
        """Makes every call of a function a task: ``@s.task``, ``@s.task(name="epoch")``.

        For ``def`` and ``async def``. What is raised fails the task and goes on; a cancellation
        cancels it.
        """
        if function is None:
            return functools.partial(
                self.task, name=name, task_type=task_type, backend=backend, attributes=attributes
            )
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(
                f"{function.__qualname__} is a generator, which has no end of its own: "
                "use `with s.run(name):` inside it"
            )
        called = getattr(function, "__name__", type(function).__name__)
        options: Dict[str, Any] = {
            "backend": backend,
            "executable": called,
            "task_type": task_type,
            "attributes": attributes,
        }
        named = name or called
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def call_async(*arguments: Any, **keywords: Any) -> Any:
                with self.run(named, **options):
                    return await function(*arguments, **keywords)

            return call_async

        @functools.wraps(function)
        def call(*arguments: Any, **keywords: Any) -> Any:
            with self.run(named, **options):
                return function(*arguments, **keywords)

        return call

    def run(self, name: str, **options: Any) -> "Running":
        """``with s.run("epoch") as task:`` is a task from created to completed, or failed.

        Takes what :meth:`create_task` takes.
        """
        return Running(self, name, options)

    def span(self, name: str, attributes: Optional[Mapping[str, Any]] = None) -> "Scope":
        """``with s.span("load") as span:`` is a span of the program's own; what is created inside
        lies in it."""
        return Scope(self, name, attributes)

    # Events. annotate() is the core's.

    def emit(
        self,
        event: Union[str, EventValue],
        task_id: Optional[str] = None,
        backend: Optional[str] = None,
        node_id: Optional[str] = None,
        time: Optional[float] = None,
        emit_time: Optional[float] = None,
        **fields: Any,
    ) -> None:
        """Emits an event: one of a declared kind, or a name and its fields.

        Names of the reference (``TaskStarted`` and so on) do what they say, so that whole life
        cycles can be told with times of their own. Raises ``ValueError`` for a name that no event
        may have.
        """
        if isinstance(event, EventValue):
            name, values = event.name, {**event.fields, **fields}
        else:
            name, values = event, fields
        self._emit(name, values, task_id, backend, node_id, time, emit_time)

    def resource_update(
        self,
        node_id: str,
        *,
        backend: Optional[str] = None,
        gpu_id: Optional[int] = None,
        cpu_percent: Optional[float] = None,
        memory_percent: Optional[float] = None,
        memory_used_bytes: Optional[int] = None,
        memory_total_bytes: Optional[int] = None,
        gpu_percent: Optional[float] = None,
        gpu_memory_used_bytes: Optional[int] = None,
        gpu_memory_total_bytes: Optional[int] = None,
        disk_read_bytes: Optional[float] = None,
        disk_write_bytes: Optional[float] = None,
        net_sent_bytes: Optional[float] = None,
        net_recv_bytes: Optional[float] = None,
        time: Optional[float] = None,
    ) -> None:
        """Tells what a node does, or a GPU of it; for adapters. What is not known is left out."""
        fields = {
            "resource_scope": "per_node" if gpu_id is None else "per_gpu",
            "gpu_id": gpu_id,
            "cpu_percent": cpu_percent,
            "memory_percent": memory_percent,
            "memory_used_bytes": memory_used_bytes,
            "memory_total_bytes": memory_total_bytes,
            "gpu_percent": gpu_percent,
            "gpu_memory_used_bytes": gpu_memory_used_bytes,
            "gpu_memory_total_bytes": gpu_memory_total_bytes,
            "disk_read_bytes": disk_read_bytes,
            "disk_write_bytes": disk_write_bytes,
            "net_sent_bytes": net_sent_bytes,
            "net_recv_bytes": net_recv_bytes,
        }
        known = {key: value for key, value in fields.items() if value is not None}
        self._emit("ResourceUpdate", known, None, backend, node_id, time, None)

    # Those who want to know.

    def subscribe(self, callback: Callable[[Any], Any], *, batch: bool = False) -> Subscription:
        """Calls back with every event, or with lists of them (``batch=True``).

        A plain function is called on a thread of the session's subscribers, in turn with others. A
        coroutine function is called on the loop on which this is called. One that raises is
        counted, said once, and called again; one that is too slow misses events, which is counted.
        """
        delivery: Delivery
        if _is_coroutine_function(callback):
            delivery = LoopDelivery(asyncio.get_running_loop(), callback, batch)
            delivery.start()
        else:
            delivery = Delivery(callback, batch)
        self._subscribers.add(delivery)
        return Subscription(self._subscribers, delivery)

    def stream(self) -> Stream:
        """``async for event in s.stream():`` gives events as they come, until the session ends."""
        delivery = LoopDelivery(asyncio.get_running_loop(), _nothing, False)
        self._subscribers.add(delivery)
        return Stream(self._subscribers, delivery)

    # What is known.

    def summary(self) -> Dict[str, Any]:
        """Tasks by state, their durations, nodes as they were last: as RHAPSODY's ``summary()``."""
        known = self._summary()
        resources: Dict[str, Any] = {}
        for resource in self.resources():
            if resource.gpu_id is None:
                backend = resource.backend
                place = f"{backend}/{resource.node_id}" if backend else resource.node_id
                resources[place] = {
                    "backend": resource.backend,
                    "node_id": resource.node_id,
                    **{field: resource.values.get(field) for field in RESOURCE_FIELDS},
                }
        return {**known, "resources": resources}

    def spans(self) -> Records[Span]:
        """Spans that have ended, the newest ``keep_spans`` of them, in the order of their ends."""
        return Records(Span, [_span(row) for row in self._spans()])

    def metrics(self) -> Records[MetricPoint]:
        """Instruments as they stand."""
        return Records(MetricPoint, [MetricPoint(*members) for members in self._metrics()])

    def resources(self) -> Records[Resource]:
        """Nodes and GPUs as they were last."""
        return Records(Resource, [Resource(*members) for members in self._resources()])

    def stats(self) -> Dict[str, Any]:
        """What became of events and files: how many were handled, dropped, missed."""
        stats = self._stats()
        stats["subscriber_errors"] += self._subscribers.errors()
        stats["subscribers_missed"] += self._subscribers.missed()
        return stats

    # The end.

    def flush(self, timeout: float = 5.0) -> bool:
        """Waits until everything so far is in the file, synced, and sent; false if that takes
        longer than ``timeout`` seconds. Raises ``ValueError`` for a timeout that is none."""
        return super().flush(seconds(timeout))

    def close(self, timeout: float = 5.0) -> bool:
        """Ends the session: everything is handled, written and sent, or ``timeout`` seconds have
        passed (then false). Once is enough. ``math.inf`` waits as long as it takes.

        Raises ``ValueError`` for a timeout that is none; the session then goes on."""
        until = clock.monotonic() + seconds(timeout)
        if not self.is_ended:
            self._wait_for_adapters(until)
        is_written = self._end(max(until - clock.monotonic(), 0.0))
        with _lock:
            _open.discard(self)
        return self._subscribers.finish(max(until - clock.monotonic(), 0.0)) and is_written

    def _wait_before_end(self, wait: Callable[[float], Any]) -> None:
        """For adapters: calls ``wait(seconds)`` before the session ends, once."""
        self._waits.append(wait)

    def _wait_for_adapters(self, until: float) -> None:
        while self._waits:
            wait = self._waits.pop()
            try:
                # Half of the time, so that there is some left for writing.
                wait(max(until - clock.monotonic(), 0.0) / 2)
            except Exception:
                _log.warning("an adapter could not end what it follows", exc_info=True)

    def __enter__(self) -> "Session":
        current = Current(self)
        current.__enter__()
        self._current.append(current)
        return self

    def __exit__(self, kind: Any, error: Any, _traceback: Any) -> None:
        try:
            self._leave(error)
        finally:
            self.close()

    async def __aenter__(self) -> "Session":
        return self.__enter__()

    async def __aexit__(self, kind: Any, error: Any, _traceback: Any) -> None:
        until = clock.monotonic() + EXIT_SECONDS
        try:
            self._leave(error)
        finally:
            # In another thread, so that coroutines that are subscribed run meanwhile.
            await asyncio.get_running_loop().run_in_executor(None, self.close)
        await self._subscribers.drained(max(until - clock.monotonic(), 0.1))

    def _leave(self, error: Optional[BaseException]) -> None:
        if self._current:
            self._current.pop().__exit__(None, None, None)
        if error is not None and not isinstance(error, (SystemExit, *_CANCELED)):
            self._fail(_described(error))

    def __repr__(self) -> str:
        state = "ended" if self.is_ended else "running"
        return f"<kymograph session {self.id} ({state})>"


class Running:
    """A task that lasts as long as a ``with``."""

    __slots__ = ("_session", "_name", "_options", "_task", "_current")

    def __init__(self, session: Session, name: str, options: Dict[str, Any]) -> None:
        self._session = session
        self._name = name
        self._options = options

    def __enter__(self) -> Task:
        task = self._session.create_task(self._name, **self._options)
        self._task = task
        task.submitted()
        task.started()
        self._current = Current(task)
        self._current.__enter__()
        return task

    def __exit__(self, kind: Any, error: Any, _traceback: Any) -> None:
        self._current.__exit__()
        if error is None:
            self._task.completed()
        elif isinstance(error, _CANCELED):
            self._task.canceled()
        else:
            self._task.failed(error)


class Scope:
    """A span of the program's own, as long as a ``with``."""

    __slots__ = ("_session", "_name", "_attributes", "_span", "_current")

    def __init__(
        self, session: Session, name: str, attributes: Optional[Mapping[str, Any]]
    ) -> None:
        self._session = session
        self._name = name
        self._attributes = attributes

    def __enter__(self) -> _core.OpenSpan:
        self._span = self._session.start_span(self._name, self._attributes)
        self._current = Current(self._span)
        self._current.__enter__()
        return self._span

    def __exit__(self, kind: Any, error: Any, _traceback: Any) -> None:
        self._current.__exit__()
        if error is None or isinstance(error, GeneratorExit):
            self._span.end()
        else:
            self._span.fail(_described(error))


def session(
    name: str,
    *,
    id: Optional[str] = None,
    service_name: Optional[str] = None,
    backend: Optional[str] = None,
    checkpoint: Union[bool, str, "os.PathLike[str]"] = True,
    directory: Union[str, "os.PathLike[str]"] = ".",
    endpoint: Optional[str] = None,
    protocol: Optional[str] = None,
    headers: Optional[Mapping[str, str]] = None,
    poll_interval: Optional[float] = 5.0,
    flush_interval: float = 1.0,
    queue_events: int = 65_536,
    when_full: str = "block",
    keep_spans: int = 100_000,
    attributes: Optional[Mapping[str, Any]] = None,
    parent: Union[str, bool, None] = None,
    debug: bool = False,
) -> Session:
    """Starts a session. Use it in a ``with`` or ``async with``, or call :meth:`Session.close`.

    :param name: what it is called, for people
    :param id: its id; the name and eight random digits unless given
    :param service_name: ``service.name``; ``OTEL_SERVICE_NAME``, else the name, unless given
    :param backend: what runs the tasks, where they do not say
    :param checkpoint: true for ``<id>.kymo.jsonl`` in ``directory``, false for no file, or a path
    :param endpoint: a server that speaks OTLP, such as ``http://localhost:4317``; without one,
        ``KYMO_OTLP_ENDPOINT`` or ``OTEL_EXPORTER_OTLP_ENDPOINT`` if set; else nothing is sent
    :param protocol: ``grpc``, ``http/protobuf`` or ``http/json``; by the port unless given
    :param headers: what goes with every request to it
    :param poll_interval: seconds between looks at node and GPUs, 0.1 or more; ``None`` for never
    :param flush_interval: within how many seconds everything is in the file
    :param queue_events: how many events may wait for the session's thread
    :param when_full: ``block`` or ``drop`` when more do
    :param keep_spans: how many finished spans :meth:`Session.spans` remembers
    :param attributes: more attributes of the resource
    :param parent: a traceparent to lie below; false for a trace of its own; unless given, the span
        that is current (OpenTelemetry's or kymograph's), else ``TRACEPARENT``
    :param debug: what would be sent goes to stdout instead of the endpoint, also if there is none;
        as ``KYMO_OTEL_DEBUG=1``

    Raises ``ValueError`` for what cannot work.
    """
    directory_path = file_path = None
    if checkpoint is True:
        directory_path = os.fspath(directory)
    elif checkpoint is not False:
        file_path = os.fspath(checkpoint)
    if when_full not in ("block", "drop"):
        raise ValueError(f"when_full is {when_full!r}: expected 'block' or 'drop'")
    if parent is None or parent is True:
        parent = active_traceparent()
        has_parent = True
    else:
        has_parent = bool(parent)
    return Session(
        name,
        id=id,
        service_name=service_name,
        backend=backend,
        directory=directory_path,
        file=file_path,
        endpoint=endpoint,
        protocol=protocol,
        headers=list((headers or {}).items()),
        poll_interval=poll_interval,
        flush_interval=flush_interval,
        queue_events=queue_events,
        drop_when_full=when_full == "drop",
        keep_spans=keep_spans,
        attributes=attributes,
        parent=parent if isinstance(parent, str) else None,
        use_environment_parent=has_parent,
        debug=debug or os.environ.get("KYMO_OTEL_DEBUG") == "1",
    )


def _span(row: Any) -> Span:
    *members, events = row
    members.append([SpanEvent(*event) for event in events])
    return Span(*members)


def _described(error: BaseException) -> str:
    """An exception as text."""
    return f"{type(error).__name__}: {text_of(error)}"


def _nothing(*_arguments: Any) -> None:
    pass


def _is_coroutine_function(callback: Callable[..., Any]) -> bool:
    if isinstance(callback, functools.partial):
        return _is_coroutine_function(callback.func)
    # An object that is called as a coroutine function is one, too.
    return inspect.iscoroutinefunction(callback) or inspect.iscoroutinefunction(
        type(callback).__call__
    )


@atexit.register
def _close_all() -> None:
    """At the end of the interpreter: what is queued is written, within a bound."""
    until = clock.monotonic() + EXIT_SECONDS
    with _lock:
        sessions = list(_open)
    for one in sessions:
        one.close(max(until - clock.monotonic(), 0.0))


def _after_fork_in_child() -> None:
    """Sessions of the parent are inert here: their threads, and who knows which locks, are not."""
    global _lock
    _lock = threading.Lock()
    _core.forked_in_child()
    _open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
