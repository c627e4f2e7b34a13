"""What a session costs, beside RHAPSODY's telemetry if that is installed.

    python bench/events.py [--tasks 50000]

Prints what a call of a task's state costs, and how many events of tasks' lives (Created, Submitted,
Queued, Started, Completed) are handled in a second, end to end: from the first call until the file
is complete. Both write their checkpoint. Each measurement is a process of its own, and the best of
three counts, since other work of the machine only ever makes them slower.
"""

import argparse
import asyncio
import glob
import json
import os
import subprocess
import sys
import tempfile
import time

STATES = ("submitted", "queued", "started", "completed")


def kymograph_calls(tasks, directory):
    """Nanoseconds of one call, by method."""
    import kymograph

    costs = {}
    with kymograph.session("bench", directory=directory, poll_interval=None) as s:
        # As many as the queue takes without being waited for: what a program sees.
        count = min(tasks, 10_000)
        s.create_task("first").completed()
        started = time.perf_counter_ns()
        made = [s.create_task("task") for _ in range(count)]
        costs["create_task"] = (time.perf_counter_ns() - started) / count
        for state in STATES:
            s.flush()
            methods = [getattr(task, state) for task in made]
            started = time.perf_counter_ns()
            for method in methods:
                method()
            costs[state] = (time.perf_counter_ns() - started) / count
    return costs


def kymograph_events(tasks, directory):
    """Events a second, end to end."""
    import kymograph

    started = time.perf_counter()
    with kymograph.session("bench", directory=directory, poll_interval=None) as s:
        for _ in range(tasks):
            task = s.create_task("task", executable="f", task_type="compute")
            task.submitted()
            task.queued()
            task.started()
            task.completed()
    seconds = time.perf_counter() - started
    assert s.task_count()["completed"] == tasks and s.stats()["dropped"] == 0
    return {"events": 5 * tasks / seconds, "bytes": os.path.getsize(s.path) / (5 * tasks)}


def rhapsody_events(tasks, directory):
    """The same for RHAPSODY's manager, driven directly."""
    from rhapsody.telemetry import events
    from rhapsody.telemetry.manager import TelemetryManager

    kinds = [
        getattr(events, name)
        for name in ("TaskCreated", "TaskSubmitted", "TaskQueued", "TaskStarted", "TaskCompleted")
    ]
    attributes = {"executable": "f", "task_type": "compute"}

    async def run():
        manager = TelemetryManager(session_id="bench", checkpoint_path=directory)
        started = time.perf_counter()
        await manager.start()
        for n in range(tasks):
            for kind in kinds:
                event = events.make_event(
                    kind,
                    session_id="bench",
                    backend="b",
                    task_id=f"task.{n:06}",
                    attributes=attributes,
                )
                manager.emit(event)
            # Its dispatch loop shares the thread, and its stop() gives up after five seconds.
            if n % 100 == 99:
                while manager._queue.qsize() > 500:
                    await asyncio.sleep(0)
        await manager.stop()
        seconds = time.perf_counter() - started
        assert manager.task_count()["completed"] == tasks
        return seconds

    seconds = asyncio.run(run())
    (path,) = glob.glob(os.path.join(directory, "*.jsonl"))
    return {"events": 5 * tasks / seconds, "bytes": os.path.getsize(path) / (5 * tasks)}


MEASUREMENTS = {
    "kymograph_calls": kymograph_calls,
    "kymograph_events": kymograph_events,
    "rhapsody_events": rhapsody_events,
}


def measured(name, tasks, rounds=3):
    """All rounds of a measurement."""
    found = []
    for _ in range(rounds):
        command = [sys.executable, __file__, "--one", name, "--tasks", str(tasks)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{name} failed:\n{done.stderr}")
        found.append(json.loads(done.stdout.splitlines()[-1]))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", type=int, default=50_000)
    parser.add_argument("--json", action="store_true", help="numbers for programs")
    parser.add_argument("--one", choices=MEASUREMENTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        with tempfile.TemporaryDirectory() as directory:
            print(json.dumps(MEASUREMENTS[options.one](options.tasks, directory)))
        return
    calls = measured("kymograph_calls", options.tasks)
    costs = {method: min(one[method] for one in calls) for method in calls[0]}
    ours = max(measured("kymograph_events", options.tasks), key=lambda one: one["events"])
    theirs = None
    try:
        import rhapsody.telemetry  # noqa: F401

        # A tenth of the tasks: it takes as long as ours with all of them.
        fewer = max(options.tasks // 10, 1)
        theirs = max(measured("rhapsody_events", fewer), key=lambda one: one["events"])
    except ImportError:
        pass
    if options.json:
        print(json.dumps({"call_nanos": costs, "kymograph": ours, "rhapsody": theirs}))
        return
    print("call               ns")
    for method, nanos in costs.items():
        print(f"{method:<14} {nanos:>6.0f}")
    print("\nevents of tasks    events/s  bytes/event")
    print(f"{'kymograph':<16} {ours['events']:>10,.0f} {ours['bytes']:>12.0f}")
    if theirs is None:
        print("rhapsody-py      (not installed)")
        return
    print(f"{'rhapsody-py':<16} {theirs['events']:>10,.0f} {theirs['bytes']:>12.0f}")
    print(f"{'ratio':<16} {ours['events'] / theirs['events']:>10.1f}")


if __name__ == "__main__":
    main()
