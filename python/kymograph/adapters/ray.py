"""Tasks and actors of Ray: calls are tasks of a session, and continue its trace.

    step = remote(session, train_step, num_cpus=1)
    ray.get(step.remote(batch))

    Model = remote(session, ModelActor)
    model = Model.remote("weights")
    ray.get(model.predict.remote(batch))

What :func:`remote` gives is used as what `ray.remote` gives: `.remote(…)`, `.options(…)`, methods
of actors. Each call carries the trace's context to the worker, where the task's span is current;
when and where it ran comes back beside the result, in an object of its own. A call that is
canceled cancels its task; an error, or a worker that dies, fails it. A session that is closed waits
for calls that run, for half of the time that closing may take.

`kymograph` must be installed on Ray's workers. Generators (`num_returns="dynamic"`) are refused:
they have no one end.
"""

from __future__ import annotations

import inspect
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any, Callable

import ray

from ._carrier import call_there, carrier_of, continued, mark, name_of, ran_since, run_of

if TYPE_CHECKING:
    from ..session import Session, Task

__all__ = ["remote"]


def remote(session: Session, target: Any = None, **options: Any) -> Any:
    """`ray.remote` for a function or a class, with a session; `options` are Ray's.

    Without a target it is a decorator: `@remote(session, num_cpus=2)`.
    """
    if target is None:
        return lambda decorated: remote(session, decorated, **options)
    if inspect.isclass(target):
        return RemoteClass(session, target, options)
    return RemoteFunction(session, target, options)


class RemoteFunction:
    """A function whose calls are tasks."""

    def __init__(self, session: Session, function: Callable[..., Any], options: dict[str, Any]):
        self._session = session
        self._function = function
        self._options = options
        self._returns = _returns(options)
        # One more object than was asked for: when and where it ran.
        ours = {**options, "num_returns": self._returns + 1, "name": name_of(function)}
        ours.update({key: value for key, value in options.items() if key == "name"})
        self._call = ray.remote(**ours)(_call_function)

    def remote(self, /, *args: Any, **kwargs: Any) -> Any:
        """Calls it: gives a reference to the result, or as many as `num_returns`."""
        task = _create(self._session, name_of(self._function), "ray.task")
        return _follow(
            self._session,
            task,
            self._returns,
            lambda: self._call.remote(
                carrier_of(task), self._returns, self._function, *args, **kwargs
            ),
        )

    def options(self, **options: Any) -> RemoteFunction:
        """The same with other options."""
        return RemoteFunction(self._session, self._function, {**self._options, **options})


class RemoteClass:
    """A class whose instances are actors."""

    def __init__(self, session: Session, target: type, options: dict[str, Any]) -> None:
        self._session = session
        self._target = target
        self._options = options
        actor = _traced(target)
        self._actor: Any = ray.remote(**options)(actor) if options else ray.remote(actor)

    def remote(self, /, *args: Any, **kwargs: Any) -> Actor:
        """Makes an actor."""
        return Actor(self._session, self._target.__name__, self._actor.remote(*args, **kwargs))

    def options(self, **options: Any) -> RemoteClass:
        """The same with other options."""
        return RemoteClass(self._session, self._target, {**self._options, **options})


class Actor:
    """An actor: calls of its methods are tasks."""

    def __init__(self, session: Session, name: str, handle: Any) -> None:
        self._session = session
        self._name = name
        #: Ray's own handle, for `ray.kill` and the like.
        self.handle = handle

    def __getattr__(self, name: str) -> Method:
        if name.startswith("_"):
            raise AttributeError(name)
        return Method(self._session, self._name, self.handle, name)


class Method:
    """A method of an actor."""

    def __init__(
        self, session: Session, actor: str, handle: Any, name: str, returns: int = 1
    ) -> None:
        self._session = session
        self._actor = actor
        self._handle = handle
        self._name = name
        self._returns = returns

    def remote(self, /, *args: Any, **kwargs: Any) -> Any:
        """Calls it: gives a reference to the result."""
        task = _create(self._session, f"{self._actor}.{self._name}", "ray.actor")
        call = self._handle.kymograph_call.options(num_returns=self._returns + 1)
        return _follow(
            self._session,
            task,
            self._returns,
            lambda: call.remote(carrier_of(task), self._returns, self._name, *args, **kwargs),
        )

    def options(self, **options: Any) -> Method:
        """The same with other `num_returns`."""
        returns = _returns(options)
        return Method(self._session, self._actor, self._handle, self._name, returns)


def _returns(options: dict[str, Any]) -> int:
    returns = options.get("num_returns", 1)
    if not isinstance(returns, int) or returns < 1:
        raise ValueError(f"num_returns is {returns!r}: expected a number, 1 or more")
    return returns


def _create(session: Session, name: str, task_type: str) -> Task:
    task = session.create_task(name, backend="ray", executable=name, task_type=task_type)
    task.submitted()
    return task


def _follow(session: Session, task: Task, returns: int, call: Callable[[], Any]) -> Any:
    try:
        run, *results = call()
    except BaseException as error:
        task.failed(error)
        raise
    task.queued()
    calls = _calls_of(session)
    calls.begin()
    run.future().add_done_callback(lambda done: _ended(calls, session, task, done))
    return results[0] if returns == 1 else results


class _Calls:
    """How many calls of a session have not come home."""

    def __init__(self) -> None:
        self._count = 0
        self._changed = threading.Condition()

    def begin(self) -> None:
        with self._changed:
            self._count += 1

    def end(self) -> None:
        with self._changed:
            self._count -= 1
            self._changed.notify_all()

    def wait(self, seconds: float) -> bool:
        """Waits until all have."""
        with self._changed:
            return self._changed.wait_for(lambda: self._count == 0, seconds)


_calls: weakref.WeakKeyDictionary[Session, _Calls] = weakref.WeakKeyDictionary()
_calls_lock = threading.Lock()


def _calls_of(session: Session) -> _Calls:
    with _calls_lock:
        calls = _calls.get(session)
        if calls is None:
            calls = _calls[session] = _Calls()
            # A result may be there before it is told when it was: Ray calls back when it likes.
            session._wait_before_end(calls.wait)
        return calls


def _ended(calls: _Calls, session: Session, task: Task, done: Any) -> None:
    try:
        _end(session, task, done)
    except Exception as error:
        # Ray would swallow it, and the task stay open.
        task.failed(error)
    finally:
        calls.end()


def _end(session: Session, task: Task, done: Any) -> None:
    if done.cancelled():
        task.canceled()
        return
    error = done.exception()
    if error is None:
        run = done.result()
        run.tell(session, task)
        task.completed(time=run.stop)
        return
    if isinstance(error, ray.exceptions.TaskCancelledError):
        task.canceled()
        return
    # What the function raised is the cause of what Ray raises.
    cause = getattr(error, "cause", None) or error
    run = run_of(cause) or run_of(error)
    if run is not None:
        run.tell(session, task)
    task.failed(cause, time=None if run is None else run.stop)


def _call_function(
    carrier: dict[str, str],
    returns: int,
    function: Callable[..., Any],
    /,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """What runs in a worker in place of a function."""
    run, result = call_there(carrier, function, *args, **kwargs)
    return (run, result) if returns == 1 else (run, *result)


def _traced(target: type) -> type:
    """A class with one more method, by which all others are called."""
    members = inspect.getmembers(target, inspect.iscoroutinefunction)
    if members:

        async def kymograph_call(
            self: Any,
            carrier: dict[str, str],
            returns: int,
            name: str,
            /,
            *args: Any,
            **kwargs: Any,
        ) -> Any:
            start = time.time()
            try:
                # Other calls of this actor run meanwhile, in the same process.
                with continued(carrier, is_alone=False):
                    result = getattr(self, name)(*args, **kwargs)
                    if inspect.isawaitable(result):
                        result = await result
            except BaseException as error:
                mark(error, start)
                raise
            run = ran_since(start)
            return (run, result) if returns == 1 else (run, *result)

    else:

        def kymograph_call(  # type: ignore[misc]
            self: Any,
            carrier: dict[str, str],
            returns: int,
            name: str,
            /,
            *args: Any,
            **kwargs: Any,
        ) -> Any:
            return _call_function(carrier, returns, getattr(self, name), *args, **kwargs)

    kind = type(target.__name__, (target,), {"kymograph_call": kymograph_call})
    kind.__module__ = target.__module__
    return kind
