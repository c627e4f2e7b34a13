"""Nodes: what RHAPSODY's adapters tell, and an adapter for Dask that sees its workers."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from rhapsody.telemetry.adapters.base import TelemetryAdapter
from rhapsody.telemetry.events import ResourceUpdate, make_event

from ...records import RESOURCE_FIELDS
from . import ledger

if TYPE_CHECKING:
    from .manager import TelemetryManager

logger = logging.getLogger(__name__)


class Nodes:
    """Each node as it was last."""

    def __init__(self, counted: ledger.Ledger) -> None:
        self._ledger = counted
        self._last: dict[str, dict[str, Any]] = {}
        # Nodes of which nothing is known but one GPU's use.
        self._only_gpu: set[str] = set()

    def update(self, session: Any, event: Any) -> None:
        """Takes an update of a node, or of one of its GPUs: that leaves the node's values alone."""
        values = {field: getattr(event, field) for field in RESOURCE_FIELDS}
        session.resource_update(
            event.node_id,
            backend=event.backend or None,
            gpu_id=event.gpu_id,
            time=event.event_time,
            **values,
        )
        place = f"{event.backend}/{event.node_id}"
        if event.gpu_id is not None:
            if place in self._last and place not in self._only_gpu:
                return
            self._only_gpu.add(place)
        else:
            self._only_gpu.discard(place)
        self._last[place] = {"backend": event.backend, "node_id": event.node_id, **values}
        for which, field in (
            (ledger.CPU, "cpu_percent"),
            (ledger.MEMORY, "memory_percent"),
            (ledger.GPU, "gpu_percent"),
        ):
            if values[field] is not None:
                self._ledger.add((which, values[field], event.backend, event.node_id))

    def as_dict(self) -> dict[str, dict[str, Any]]:
        """As `summary()` has it, by backend and node."""
        return {place: dict(values) for place, values in self._last.items()}


def attach_dask(
    manager: TelemetryManager, backend: Any, session_id: str, backend_name: str, interval: float
) -> None:
    """Registers the adapter for a Dask backend, and starts it if the session runs."""
    client = getattr(backend, "_client", None) or getattr(backend, "client", None)
    if client is None:
        return
    adapter = DaskWorkers(client, session_id, backend_name, interval)
    manager.register_adapter(adapter)
    if manager._running:
        adapter.start()


class DaskWorkers(TelemetryAdapter):
    """One `ResourceUpdate` for each worker, every interval.

    RHAPSODY asks `client.scheduler_info()`. Of an asynchronous client, which its backend makes,
    that is a cached answer without workers, so there were no updates at all; and the fields
    `read_bytes` and `write_bytes` are gone from Dask's metrics, which tell rates now. So the
    scheduler is asked itself, and bytes are the rate times the time since the last look.
    """

    def __init__(self, client: Any, session_id: str, backend_name: str, interval: float) -> None:
        self._client = client
        self._session_id = session_id
        self._backend_name = backend_name
        self._interval = interval
        self._manager: Any = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begins to look."""
        self._task = asyncio.get_running_loop().create_task(self._look_again_and_again())

    def stop(self) -> None:
        """Stops looking."""
        if self._task is not None:
            self._task.cancel()

    async def _look_again_and_again(self) -> None:
        last: dict[str, float] = {}
        while True:
            try:
                identity = await self._client.scheduler.identity(n_workers=-1)
                for address, worker in identity.get("workers", {}).items():
                    if "cpu" in worker.get("metrics", {}):
                        self._tell(address, worker, last)
            except Exception:  # a cluster that goes away must not end the session
                logger.debug("cannot look at Dask's workers", exc_info=True)
            await asyncio.sleep(self._interval)

    def _tell(self, address: str, worker: dict[str, Any], last: dict[str, float]) -> None:
        metrics = worker["metrics"]
        seconds = metrics["time"] - last[address] if address in last else None
        if seconds == 0:  # the worker has told nothing since
            return
        last[address] = metrics["time"]

        def moved(what: str, rate: str) -> float | None:
            per_second = metrics.get(what, {}).get(rate)
            return None if per_second is None or seconds is None else per_second * seconds

        name = worker.get("name", address)
        limit = worker.get("memory_limit")
        self._manager.emit(
            make_event(
                ResourceUpdate,
                session_id=self._session_id,
                backend=self._backend_name,
                node_id=address if name == address else f"{worker.get('host')}/{name}",
                cpu_percent=metrics["cpu"],
                memory_percent=100 * metrics["memory"] / limit if limit else None,
                gpu_percent=metrics.get("gpu_utilization"),
                disk_read_bytes=moved("host_disk_io", "read_bps"),
                disk_write_bytes=moved("host_disk_io", "write_bps"),
                net_sent_bytes=moved("host_net_io", "write_bps"),
                net_recv_bytes=moved("host_net_io", "read_bps"),
            )
        )
