"""The context of a piece of work, carried by hand: to an actor, through a queue, to another host.

    carrier = kymograph.inject()            # {'traceparent': '00-…-…-01', 'baggage': 'run.id=7'}
    ...                                     # it travels with the message
    with kymograph.extract(carrier):
        ...                                 # spans here lie below the sender's

The headers are those of W3C. Without OpenTelemetry installed there is ``traceparent`` alone.
"""

from __future__ import annotations

import contextlib
import logging
from typing import Any, Dict, Iterator, Mapping, MutableMapping, Optional, Tuple

from . import _context

#: Ids travel with every request, so there are few of them.
SHARE_KEYS = 32
#: And they are short.
SHARE_BYTES = 1024

_log = logging.getLogger("kymograph")


def inject(carrier: Optional[MutableMapping[str, str]] = None) -> MutableMapping[str, str]:
    """Puts the current context into a map, a new one unless given, and gives it back."""
    carrier = {} if carrier is None else carrier
    otel = _context.opentelemetry()
    if otel is not None:
        from opentelemetry import propagate

        propagate.inject(carrier)
    if "traceparent" not in carrier:
        span = _context.current_span()
        if span is not None:
            carrier["traceparent"] = span.traceparent
    return carrier


class Extracted:
    """A context that came from elsewhere: the current one inside a ``with``.

    Without ``with`` it says what came: :attr:`traceparent`, for ``session(parent=…)``.
    """

    def __init__(self, carrier: Mapping[str, str]) -> None:
        # Header names are the same in any case.
        self._carrier = {str(name).lower(): value for name, value in carrier.items()}
        self._tokens: list = []

    @property
    def traceparent(self) -> Optional[str]:
        """The span of the sender, as it was written."""
        return self._carrier.get("traceparent")

    @property
    def context(self) -> Any:
        """OpenTelemetry's context; ``None`` without OpenTelemetry."""
        if _context.opentelemetry() is None:
            return None
        from opentelemetry import propagate

        return propagate.extract(self._carrier)

    def __enter__(self) -> "Extracted":
        otel = _context.opentelemetry()
        remote = _Remote.of(self._carrier.get("traceparent"))
        self._tokens.append(
            (
                None if remote is None else _context.current.set(remote),
                None if otel is None else otel.attach(self.context),
            )
        )
        return self

    def __exit__(self, *_exception: Any) -> None:
        ours, theirs = self._tokens.pop()
        otel = _context.opentelemetry()
        if otel is not None and theirs is not None:
            otel.detach(theirs)
        if ours is not None:
            with contextlib.suppress(ValueError):
                _context.current.reset(ours)


def extract(carrier: Mapping[str, str]) -> Extracted:
    """The context that a map has. What cannot be read is left out: then it is a new one."""
    return Extracted(carrier)


class _Remote:
    """A span of another process, where only its ids are known."""

    __slots__ = ("trace_id", "span_id", "traceparent")

    def __init__(self, trace_id: str, span_id: str) -> None:
        self.trace_id = trace_id
        self.span_id = span_id
        self.traceparent = f"00-{trace_id}-{span_id}-01"

    @classmethod
    def of(cls, traceparent: Optional[str]) -> Optional["_Remote"]:
        parts = (traceparent or "").strip().lower().split("-")
        if len(parts) < 4 or len(parts[1]) != 32 or len(parts[2]) != 16:
            return None
        try:
            is_valid = int(parts[1], 16) != 0 and int(parts[2], 16) != 0
        except ValueError:
            return None
        return cls(parts[1], parts[2]) if is_valid else None


@contextlib.contextmanager
def share(**keys: Any) -> Iterator[None]:
    """Share keys: ids that are on every span, log record and exemplar inside the ``with``.

        with kymograph.share(session_id="s-17", run_id=3):
            ...

    They are baggage of W3C, so that they travel with requests and with :func:`inject`; what arrives
    as baggage is a share key. A name with dots is given as ``**{"run.id": 7}``. Without
    OpenTelemetry there is nothing to put them on.
    """
    otel = _context.opentelemetry()
    if otel is None:
        yield
        return
    from opentelemetry import baggage, context

    shared = context.get_current()
    for key, value in keys.items():
        if value is None:
            continue
        text = str(value)
        if len(key.encode()) > SHARE_BYTES or len(text.encode()) > SHARE_BYTES:
            _log.warning("%r is not shared: expected %d bytes at most", key, SHARE_BYTES)
        elif len(baggage.get_all(shared)) >= SHARE_KEYS:
            _log.warning("%r is not shared: there are %d share keys already", key, SHARE_KEYS)
        else:
            shared = baggage.set_baggage(key, text, shared)
    token = otel.attach(shared)
    try:
        yield
    finally:
        otel.detach(token)


def shared_keys(context: Any = None) -> Dict[str, str]:
    """The share keys of a context."""
    return dict(_bounded(context))


def _bounded(context: Any) -> Iterator[Tuple[str, str]]:
    from opentelemetry import baggage

    # Another program may have set more, and longer ones.
    count = 0
    for key, value in baggage.get_all(context).items():
        text = str(value)
        if count < SHARE_KEYS and len(key) <= SHARE_BYTES and len(text) <= SHARE_BYTES:
            count += 1
            yield key, text
