"""What the Dask adapter puts into the scheduler and the workers.

Both plugins are made inside functions on purpose: such classes are pickled by value, so schedulers
and workers need not have `kymograph` installed. They use nothing but `distributed` and what it
depends on.

The scheduler's plugin sends records to the client, as lists, several to a message:

| record | when |
|---|---|
| `["created", key, time, prefix, parent]` | the task is known |
| `["queued", key, time]` | it waits for a place, or is with a worker that has not begun |
| `["started", key, time, worker]` | it is seen running: a heartbeat told so |
| `["completed", key, time, start, stop, worker]` | it has ended well |
| `["failed", key, time, start, stop, worker, text]` | it has failed |
| `["canceled", key, time]` | nobody wants it any more |
| `["again", key, time, reason]` | an attempt was lost, and another follows |
| `["resources", time, [worker, …]]` | every interval, one mapping a worker |
| `["flushed", token]` | everything before this has been sent |
"""

from __future__ import annotations

from typing import Any

#: Records that wait are sent after this time,
SEND_AFTER_SECONDS = 0.05
#: or when there are so many of them.
SEND_AFTER_RECORDS = 500
#: How often the scheduler looks which tasks run. Heartbeats of workers come about as often.
LOOK_EVERY_SECONDS = 1.0


def scheduler_plugin(
    name: str,
    topic: str,
    client_id: str | None,
    interval: float,
    send_after_seconds: float = SEND_AFTER_SECONDS,
    send_after_records: int = SEND_AFTER_RECORDS,
    look_every_seconds: float = LOOK_EVERY_SECONDS,
) -> Any:
    """Makes the scheduler's plugin. Without `client_id` it follows the tasks of all clients."""
    import asyncio
    import time

    from distributed.diagnostics.plugin import SchedulerPlugin

    class KymographScheduler(SchedulerPlugin):
        def __init__(self) -> None:
            self.name = name
            self.records: list[list[Any]] = []
            self.timer: Any = None
            self.watch: Any = None
            # Keys that are followed, each with the span that it was submitted in.
            self.keys: dict[Any, str | None] = {}
            self.created: set[Any] = set()
            self.queued: set[Any] = set()
            self.started: set[Any] = set()
            # Keys whose attempt is over without a result: the next transition tells why.
            self.given_up: dict[Any, str] = {}

        async def start(self, scheduler: Any) -> None:
            self.scheduler = scheduler
            self.watch = asyncio.get_running_loop().create_task(self.look())

        async def close(self) -> None:
            self.stop()

        def stop(self) -> None:
            if self.watch is not None:
                self.watch.cancel()
            self.send()

        def add(self, record: list[Any]) -> None:
            self.records.append(record)
            if len(self.records) >= send_after_records:
                self.send()
            elif self.timer is None:
                self.timer = asyncio.get_running_loop().call_later(send_after_seconds, self.send)

        def send(self) -> None:
            if self.timer is not None:
                self.timer.cancel()
                self.timer = None
            if self.records:
                records, self.records = self.records, []
                self.scheduler.log_event(topic, records)
                # The scheduler keeps what it logs; nobody reads these twice.
                broker = getattr(self.scheduler, "_broker", None)
                if broker is not None:
                    broker.truncate(topic)

        def flush(self, token: str) -> None:
            self.records.append(["flushed", token])
            self.send()

        def update_graph(self, scheduler: Any, **graph: Any) -> None:
            if client_id is not None and graph.get("client") != client_id:
                return
            parents = (graph.get("annotations") or {}).get("kymograph_parent", {})
            for key in graph.get("tasks", ()):
                self.keys.setdefault(key, parents.get(key))

        def create(self, key: Any, now: float) -> None:
            if key not in self.created:
                self.created.add(key)
                task = self.scheduler.tasks.get(key)
                prefix = task.prefix.name if task is not None and task.prefix else str(key)
                self.add(["created", str(key), now, prefix, self.keys[key]])

        def end(self, key: Any) -> None:
            for known in (self.created, self.queued, self.started):
                known.discard(key)
            self.given_up.pop(key, None)

        def transition(self, key: Any, start: str, finish: str, *args: Any, **kwargs: Any) -> None:
            if key not in self.keys:
                return
            now = time.time()
            if finish == "waiting":
                self.create(key, now)
                if (reason := self.given_up.pop(key, None)) is not None:
                    self.queued.discard(key)
                    self.started.discard(key)
                    self.add(["again", str(key), now, reason])
            elif finish in ("queued", "no-worker", "processing"):
                self.create(key, now)
                if key not in self.queued:
                    self.queued.add(key)
                    self.add(["queued", str(key), now])
            elif finish == "memory" and key in self.created:
                self.add(["completed", str(key), now, *self.ran(kwargs)])
                self.end(key)
            elif finish == "erred":
                self.create(key, now)
                text = kwargs.get("exception_text") or self.text_of(key)
                self.add(["failed", str(key), now, *self.ran(kwargs), text])
                self.end(key)
            elif finish == "released" and key in self.created:
                self.given_up[key] = str(kwargs.get("stimulus_id", ""))
            elif finish == "forgotten":
                if key in self.created:
                    self.add(["canceled", str(key), now])
                self.end(key)
                del self.keys[key]

        def ran(self, kwargs: dict[str, Any]) -> list[Any]:
            """When a task ran, by the worker's clock as Dask corrects it, and where."""
            runs = [x for x in kwargs.get("startstops") or () if x["action"] == "compute"]
            worker = kwargs.get("worker")
            start = runs[0]["start"] if runs else None
            stop = runs[-1]["stop"] if runs else None
            return [start, stop, self.name_of(self.scheduler.workers.get(worker), worker)]

        def text_of(self, key: Any) -> str:
            task = self.scheduler.tasks.get(key)
            blame = getattr(task, "exception_blame", None)
            for one in (task, blame):
                if text := getattr(one, "exception_text", None):
                    return str(text)
            # Dask gives up on tasks that were on too many workers that died, and says it nowhere.
            return "KilledWorker()" if getattr(task, "suspicious", 0) else ""

        def name_of(self, worker: Any, address: str | None) -> str | None:
            if worker is None:
                return address
            if str(worker.name) == worker.address:
                return str(worker.address)
            return f"{worker.host}/{worker.name}"

        async def look(self) -> None:
            sampled = 0.0
            while True:
                now = time.time()
                workers = list(self.scheduler.workers.values())
                for worker in workers:
                    for task, seconds in getattr(worker, "executing", {}).items():
                        if task.key in self.queued and task.key not in self.started:
                            self.started.add(task.key)
                            where = self.name_of(worker, None)
                            self.add(["started", str(task.key), now - seconds, where])
                if now - sampled >= interval:
                    sampled = now
                    samples = [self.sample(worker) for worker in workers]
                    self.add(["resources", now, [one for one in samples if one]])
                await asyncio.sleep(min(interval, look_every_seconds))

        def sample(self, worker: Any) -> dict[str, Any] | None:
            metrics = worker.metrics or {}
            if "cpu" not in metrics:  # it has not told anything yet
                return None
            return {
                "worker": self.name_of(worker, None),
                "cpu_percent": metrics["cpu"],
                "memory_used_bytes": metrics.get("memory"),
                "memory_total_bytes": worker.memory_limit or None,
                "gpu_percent": metrics.get("gpu_utilization"),
                "gpu_memory_used_bytes": metrics.get("gpu_memory_used"),
                "counters": metrics.get("kymograph"),
            }

    return KymographScheduler()


def worker_plugin(name: str) -> Any:
    """Makes the workers' plugin: one more metric in their heartbeats.

    Dask tells rates of the last half second. Bytes since the last look need the counters.
    """
    from distributed.diagnostics.plugin import WorkerPlugin

    class KymographWorker(WorkerPlugin):
        def __init__(self) -> None:
            self.name = name

        def setup(self, worker: Any) -> None:
            self.worker = worker
            worker.metrics["kymograph"] = self.read

        def teardown(self, worker: Any) -> None:
            worker.metrics.pop("kymograph", None)

        @staticmethod
        def read(worker: Any) -> dict[str, int]:
            import psutil

            counters = {}
            if (net := psutil.net_io_counters()) is not None:
                counters["net_sent_bytes"] = net.bytes_sent
                counters["net_recv_bytes"] = net.bytes_recv
            try:  # of this worker's process, where the system tells
                disk = psutil.Process().io_counters()
            except (AttributeError, psutil.Error, OSError):
                disk = psutil.disk_io_counters()
            if disk is not None:
                counters["disk_read_bytes"] = disk.read_bytes
                counters["disk_write_bytes"] = disk.write_bytes
            return counters

    return KymographWorker()
