"""A task's context on its way into other processes, and what comes back from there.

A carrier is a plain dictionary as :func:`kymograph.inject` makes it: a W3C `traceparent`, share
keys. It can be pickled, sent, or put into headers.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from ..propagation import extract, inject

if TYPE_CHECKING:
    from ..session import Session, Task


def carrier_of(task: Task) -> dict[str, str]:
    """What another process needs to continue the task's trace."""
    with task.context():
        return dict(inject({"traceparent": task.traceparent}))


@contextmanager
def continued(carrier: dict[str, str], *, is_alone: bool = True) -> Iterator[None]:
    """Makes the carrier's span the current one, for what runs here and for what is started.

    Only for another process: `TRACEPARENT` holds for all of one. Where several tasks share a
    process, `is_alone` is false and the variable stays as it is.
    """
    before = os.environ.get("TRACEPARENT")
    if is_alone:
        os.environ["TRACEPARENT"] = carrier["traceparent"]
    try:
        with extract(carrier):
            yield
    finally:
        if is_alone and before is None:
            os.environ.pop("TRACEPARENT", None)
        elif is_alone and before is not None:
            os.environ["TRACEPARENT"] = before


class Run(NamedTuple):
    """When and where a function ran."""

    start: float
    stop: float
    node_id: str
    process_id: int

    def tell(self, session: Session, task: Task) -> None:
        """Says so, of a task."""
        tell_start(session, task, self.start, self.node_id, self.process_id)


def tell_start(
    session: Session, task: Task, time: float, node_id: str, process_id: int
) -> None:
    """A task that started elsewhere, with its process as an attribute."""
    where: dict[str, Any] = {"process.pid": process_id}
    session.emit("TaskStarted", task_id=task.id, node_id=node_id, time=time, **where)


#: The attribute under which an exception takes its run home.
_RUN = "__kymograph_run__"


def call_there(
    carrier: dict[str, str], function: Callable[..., Any], /, *arguments: Any, **keywords: Any
) -> tuple[Run, Any]:
    """Calls a function in another process: gives its result with when and where it ran."""
    start = time.time()
    try:
        with continued(carrier):
            result = function(*arguments, **keywords)
    except BaseException as error:
        mark(error, start)
        raise
    return ran_since(start), result


def mark(error: BaseException, start: float) -> None:
    """Gives an exception when and where its function ran, for :func:`run_of`."""
    try:
        setattr(error, _RUN, tuple(ran_since(start)))
    except AttributeError:  # exceptions with slots go home without it
        pass


def ran_since(start: float) -> Run:
    """A run that ends now, here."""
    return Run(start, time.time(), socket.gethostname(), os.getpid())


def run_of(error: BaseException) -> Run | None:
    """When and where a function ran that raised this; none if it never did, or cannot be known."""
    run = getattr(error, _RUN, None)
    if run is None:
        return None
    try:
        delattr(error, _RUN)
    except AttributeError:
        pass
    return Run(*run)


def name_of(function: Any) -> str:
    """What a task that calls this is called."""
    while hasattr(function, "func"):  # functools.partial
        function = function.func
    return getattr(function, "__name__", type(function).__name__)
