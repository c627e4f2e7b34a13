"""Named instruments: whoever asks for a name gets the instrument of that name.

    kymograph.counter("inference.requests").add(1, {"model": "small"})
    kymograph.histogram("inference.duration", "s").record(0.12)

They are OpenTelemetry's, of the meter ``kymograph``, and may be asked for before
:func:`kymograph.configure`. Histograms have boundaries for seconds, from 1 ms to 1 h: those of the
SDK begin at 5, so that everything that takes seconds falls into one bucket.
"""

from __future__ import annotations

import threading
from typing import Any, Dict, Optional, Sequence, Tuple

#: Upper bounds of histograms unless others are given.
SECONDS_BUCKETS = (
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0,
    900.0, 3600.0,
)  # fmt: skip

_lock = threading.Lock()
_instruments: Dict[str, Tuple[str, Any]] = {}


def counter(name: str, unit: str = "", description: str = "") -> Any:
    """A number that only grows: ``.add(1, {"model": "small"})``."""
    return _instrument("counter", name, unit, description)


def updown(name: str, unit: str = "", description: str = "") -> Any:
    """A number that grows and shrinks: ``.add(-1)``."""
    return _instrument("up_down_counter", name, unit, description)


def gauge(name: str, unit: str = "", description: str = "") -> Any:
    """A number as it is: ``.set(0.7)``."""
    return _instrument("gauge", name, unit, description)


def histogram(
    name: str, unit: str = "", description: str = "", buckets: Optional[Sequence[float]] = None
) -> Any:
    """How many were how large: ``.record(0.12)``. Bounds are those of the first who asks."""
    bounds = list(SECONDS_BUCKETS if buckets is None else buckets)
    return _instrument(
        "histogram", name, unit, description, explicit_bucket_boundaries_advisory=bounds
    )


def _instrument(kind: str, name: str, unit: str, description: str, **more: Any) -> Any:
    # OpenTelemetry takes names for the same in any case.
    key = name.lower()
    with _lock:
        known = _instruments.get(key)
        if known is None:
            known = (kind, _create(kind, name, unit, description, more))
            _instruments[key] = known
    if known[0] != kind:
        asked, there = (word.replace("_", "-") for word in (kind, known[0]))
        raise ValueError(f"{name!r} is a {there} already: a {asked} needs another name")
    return known[1]


def _create(kind: str, name: str, unit: str, description: str, more: Dict[str, Any]) -> Any:
    try:
        from opentelemetry import metrics
    except ImportError as error:
        raise ImportError(
            "instruments need OpenTelemetry: pip install 'kymograph[otel]'"
        ) from error
    meter = metrics.get_meter("kymograph")
    return getattr(meter, f"create_{kind}")(name, unit=unit, description=description, **more)
