"""RHAPSODY sessions on this core: a drop-in for the telemetry of `rhapsody-py`.

    import kymograph.adapters.rhapsody as drop_in

    drop_in.install()                    # once, before Session.start_telemetry()
    telemetry = await session.start_telemetry(checkpoint_path="out")

Everything of RHAPSODY's interface works as before: `emit`, `subscribe`, `span_scope`, enrichers,
adapters of backends, `read_traces` and `read_metrics` with objects of OpenTelemetry's SDK,
`summary`, `task_spans`, `export_as_otlp`, span processors and metric readers. Answers are the same
but for what was wrong:

- An update of one GPU no longer blanks CPU and memory of its node in `summary()`, nor overwrites
  the node's GPU gauge. Two backends on one node no longer share a gauge.
- `tasks_running` and `running` never fall below zero: only what has started stops running.
- `export_as_otlp()` writes `kind` as OTLP numbers it: INTERNAL is 1.
- A task that ends twice counts once.
- Spans begin and end when their events happened, not when a loop came round to them. A scope that
  is left by an error says so.
- With Dask, workers are seen: RHAPSODY asks for what an asynchronous client does not have.
- A backend can be added while telemetry runs: RHAPSODY's session calls a method that it lacks.

What else differs: `checkpoint_path` gets this library's file (`docs/formats/checkpoint.md`), and
RHAPSODY's own beside it if `rhapsody_jsonl` is set; a task that is created inside a span of another
trace stays in the session's trace; span processors get `on_end` only; of the oldest of more than
`keep_tasks` ended tasks, spans and data points are forgotten, counts are not.
"""

from __future__ import annotations

from typing import Any

import rhapsody.telemetry.manager as _theirs
from rhapsody import Session as _Session

from .manager import TelemetryManager

__all__ = ["TelemetryManager", "install", "uninstall"]

_original = _theirs.TelemetryManager
#: What RHAPSODY's `Session.add_backend` calls while telemetry runs, and 0.6.0 does not have.
_MISSING = "_attach_telemetry_adapter"


def install(**options: Any) -> type[TelemetryManager]:
    """Makes `Session.start_telemetry()` use this library's manager, and gives its class.

    `options` are those of :class:`TelemetryManager` that RHAPSODY does not know, for every session:
    `rhapsody_jsonl`, `keep_tasks`, `endpoint`, `protocol`, `headers`.
    """
    unknown = set(options) - set(TelemetryManager.options)
    if unknown:
        known = ", ".join(TelemetryManager.options)
        raise TypeError(f"unknown options {sorted(unknown)}: expected some of {known}")
    chosen = {**TelemetryManager.options, **options}
    installed = type("TelemetryManager", (TelemetryManager,), {"options": chosen})
    _theirs.TelemetryManager = installed
    if not hasattr(_Session, _MISSING):
        setattr(_Session, _MISSING, _attach_backend)
    return installed


def uninstall() -> None:
    """Gives RHAPSODY its own manager back. Sessions that are running go on as they are."""
    _theirs.TelemetryManager = _original
    if getattr(_Session, _MISSING, None) is _attach_backend:
        delattr(_Session, _MISSING)


def _attach_backend(session: Any, backend: Any) -> None:
    session._telemetry.attach_backend(
        backend,
        session_id=session.uid,
        backend_name=backend.name,
        interval=session._resource_poll_interval,
    )
