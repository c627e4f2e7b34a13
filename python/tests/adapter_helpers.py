"""What the tests of the adapters have in common."""

from __future__ import annotations

import time
from typing import Any, Callable

import kymograph


def open_session(directory: Any) -> Any:
    """A session that does not look at the node by itself."""
    return kymograph.session("test", directory=directory, poll_interval=None)


def tasks_of(session: Any) -> dict[str, list[Any]]:
    """Spans of tasks that have ended, by name."""
    tasks: dict[str, list[Any]] = {}
    for span in session.spans():
        if "task_id" in span.attributes:
            tasks.setdefault(span.name, []).append(span)
    return tasks


def states_of(span: Any) -> dict[str, float]:
    """When a task was submitted, queued, started."""
    return {event.name: event.time for event in span.events}


def wait_until(is_true: Callable[[], Any], seconds: float = 20.0) -> Any:
    """Waits for something that happens elsewhere; gives what it was."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = is_true()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"it has not happened within {seconds} s")
