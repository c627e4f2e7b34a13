"""RHAPSODY's telemetry and ours, on the same life cycles, each with its checkpoint.

    scripts/python install
    "$(scripts/python path)/bin/python" python/bench/rhapsody_telemetry.py [TASKS]

Every task has five events. They come in by `emit()` with events that were made before, and by the
hooks that RHAPSODY's session calls. Per call: the time until the call returns. End to end: until
`stop()` has, when everything is in the file. Each is measured several times, in turn, and the best
counts, since other work on the machine only ever makes things slower.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import tempfile
import time
from typing import Any, Callable

from rhapsody.telemetry.events import (
    TaskCompleted,
    TaskCreated,
    TaskQueued,
    TaskStarted,
    TaskSubmitted,
    make_event,
)

import kymograph.adapters.rhapsody as drop_in

ROUNDS = 3
KINDS = {"rhapsody": drop_in._original, "kymograph": drop_in.TelemetryManager}
EVENTS_OF_A_TASK = 5
BEFORE_THE_END = (TaskCreated, TaskSubmitted, TaskQueued, TaskStarted)


def by_events(count: int) -> Callable[[Any], None]:
    events = []
    for number in range(count):
        common = {
            "session_id": "bench",
            "backend": "concurrent",
            "task_id": f"task.{number:06d}",
            "attributes": {"executable": "/bin/simulate", "task_type": "ComputeTask"},
        }
        events += [make_event(kind, **common) for kind in BEFORE_THE_END]
        events.append(make_event(TaskCompleted, duration_seconds=0.1, **common))

    def run(manager: Any) -> None:
        for event in events:
            manager.emit(event)

    return run


def by_hooks(count: int) -> Callable[[Any], None]:
    tasks = [
        {
            "uid": f"task.{number:06d}",
            "backend": "concurrent",
            "executable": "/bin/simulate",
            "task_type": "ComputeTask",
        }
        for number in range(count)
    ]

    def run(manager: Any) -> None:
        for task in tasks:
            manager._on_task_created(task)
            manager._on_task_submitted(task)
            manager._on_task_queued(task)
            manager._on_task_state_change(task, "RUNNING")
            manager._on_task_state_change(task, "DONE")

    return run


async def measure(kind: type, run: Callable[[Any], None], count: int) -> tuple[float, float]:
    """Seconds of the calls, and until the end."""
    with tempfile.TemporaryDirectory() as directory:
        manager = kind("bench", checkpoint_path=directory)
        await manager.start()
        gc.collect()
        begin = time.perf_counter()
        run(manager)
        called = time.perf_counter()
        # RHAPSODY's stop() gives up after five seconds. Ours has nothing in that queue.
        await manager._queue.join()
        await manager.stop()
        end = time.perf_counter()
        assert manager.task_count()["completed"] == count
    return called - begin, end - begin


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    events = count * EVENTS_OF_A_TASK
    print(f"{count} tasks, {events} events, checkpoint on")
    print(f"{'':10} {'':12} {'µs a call':>10} {'events/s':>12}")
    for way, run in (("emit()", by_events(count)), ("hooks", by_hooks(count))):
        best = {}
        for _ in range(ROUNDS):
            for name, kind in KINDS.items():
                called, ended = asyncio.run(measure(kind, run, count))
                before = best.get(name, (float("inf"), float("inf")))
                best[name] = (min(called, before[0]), min(ended, before[1]))
        for name, (called, ended) in best.items():
            print(f"{way:10} {name:12} {called / events * 1e6:10.2f} {events / ended:12,.0f}")
        print(f"{way:10} {'ratio':12} {'':10} {best['rhapsody'][1] / best['kymograph'][1]:12.1f}")


if __name__ == "__main__":
    main()
