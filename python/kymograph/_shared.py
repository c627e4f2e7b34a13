"""Puts share keys (:func:`kymograph.share`) on spans, log records and exemplars.

What a span or a record says itself stays. Labels of metrics are not touched: ids would make a
series of every request; they are on exemplars, where they lead from a number to its trace.
"""

from __future__ import annotations

from typing import Any

from .propagation import shared_keys


def share_span_processor() -> Any:
    """A processor that puts share keys on every span that starts."""
    from opentelemetry.sdk.trace import SpanProcessor

    class ShareSpanProcessor(SpanProcessor):
        def on_start(self, span: Any, parent_context: Any = None) -> None:
            own = span.attributes or {}
            for key, value in shared_keys(parent_context).items():
                if key not in own:
                    span.set_attribute(key, value)

    return ShareSpanProcessor()


def share_log_processor() -> Any:
    """A processor that puts share keys on every log record."""
    from opentelemetry.sdk._logs import LogRecordProcessor

    class ShareLogProcessor(LogRecordProcessor):
        def on_emit(self, log_record: Any) -> None:
            record = log_record.log_record
            keys = shared_keys(getattr(record, "context", None))
            if keys:
                record.attributes = {**keys, **(record.attributes or {})}

        # What the SDK called it before.
        emit = on_emit

        def shutdown(self) -> None:
            pass

        def force_flush(self, timeout_millis: int = 30_000) -> bool:
            return True

    return ShareLogProcessor()


def share_view() -> Any:
    """A view of all instruments whose exemplars have share keys."""
    from opentelemetry.sdk.metrics import view

    class SharingReservoir:
        """Adds share keys to what is offered; the SDK keeps of it what is no label."""

        def __init__(self, reservoir: Any) -> None:
            self._reservoir = reservoir

        def offer(self, value: Any, time_unix_nano: int, attributes: Any, context: Any) -> None:
            keys = shared_keys(context)
            self._reservoir.offer(
                value,
                time_unix_nano,
                {**keys, **(attributes or {})} if keys else attributes,
                context,
            )

        def collect(self, point_attributes: Any) -> Any:
            return self._reservoir.collect(point_attributes)

    everything = view.View(instrument_name="*")
    ordinary = everything._exemplar_reservoir_factory

    def factory(aggregation: Any) -> Any:
        make = ordinary(aggregation)
        return lambda **options: SharingReservoir(make(**options))

    everything._exemplar_reservoir_factory = factory
    return everything
