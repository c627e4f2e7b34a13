"""Sends traces, metrics and logs with the OpenTelemetry SDK for Python.

    spans.py grpc|http/protobuf ENDPOINT [gzip]

Prints one JSON object: for each signal the requests that the SDK made, as its own encoder writes
them, in base64. Whoever reads the records back compares every field with these.
"""

import base64
import json
import os
import sys

from opentelemetry import trace
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.metrics.view import ExponentialBucketHistogramAggregation, View
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags, TraceState

protocol, endpoint = sys.argv[1:3]
gzip = "gzip" in sys.argv[3:]
requests = {"traces": [], "metrics": [], "logs": []}


def exporters():
    """An exporter for each signal."""
    if protocol == "grpc":
        import grpc
        from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter
        from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

        compression = grpc.Compression.Gzip if gzip else grpc.Compression.NoCompression
        common = {"endpoint": endpoint, "insecure": True, "compression": compression}
        return OTLPSpanExporter(**common), OTLPMetricExporter(**common), OTLPLogExporter(**common)

    from opentelemetry.exporter.otlp.proto.http import Compression
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    compression = Compression.Gzip if gzip else Compression.NoCompression
    return (
        OTLPSpanExporter(endpoint=f"{endpoint}/v1/traces", compression=compression),
        OTLPMetricExporter(endpoint=f"{endpoint}/v1/metrics", compression=compression),
        OTLPLogExporter(endpoint=f"{endpoint}/v1/logs", compression=compression),
    )


def kept(exporter, signal, encode):
    """The exporter, made to remember what it sends and to stop the program when that fails."""
    send = exporter.export

    def export(batch, *args, **kwargs):
        requests[signal].append(encode(batch).SerializeToString())
        result = send(batch, *args, **kwargs)
        if result.name != "SUCCESS":
            # This is a thread of the SDK: an exception here would end nothing.
            print(f"{signal} were not accepted: {result}", file=sys.stderr, flush=True)
            os._exit(1)
        return result

    exporter.export = export
    return exporter


def make_spans(tracer, logger, provider):
    with tracer.start_as_current_span(
        "checkout 注文 🛒",
        kind=SpanKind.SERVER,
        attributes={
            "text": "grüße, 世界 \u0000 end",
            "empty": "",
            "yes": True,
            "int": -(2**62),
            "double": 0.1,
            "texts": ["a", "", "ß"],
            "ints": [1, -2, 3],
            "doubles": [0.5, 1e300],
            "bools": [True, False],
        },
    ) as root:
        root.add_event("cart loaded", {"items": 3, "slow": False}, timestamp=1_700_000_000_000_000_001)
        emit_logs(logger)
        context = SpanContext(
            0x0AF7651916CD43DD8448EB211C80319C,
            0x00F067AA0BA902B7,
            is_remote=True,
            trace_flags=TraceFlags(1),
            trace_state=TraceState([("vendor", "a1")]),
        )
        with tracer.start_as_current_span(
            "pay", kind=SpanKind.CLIENT, links=[Link(context, {"why": "retry"})]
        ) as pay:
            try:
                raise ValueError("card declined: déjà vu")
            except ValueError as error:
                pay.record_exception(error)
                pay.set_status(Status(StatusCode.ERROR, "card declined"))
        with tracer.start_as_current_span("ship", kind=SpanKind.PRODUCER) as ship:
            ship.set_status(Status(StatusCode.OK))
    other = provider.get_tracer("other.scope", attributes={"scope.kind": "second"})
    other.start_span("alone", kind=SpanKind.CONSUMER).end()


def emit_logs(logger):
    """Log records inside the current span, and one that belongs to none."""
    now = 1_767_323_045_123_456_789
    logger.emit(
        LogRecord(
            timestamp=now,
            observed_timestamp=now + 5,
            context=trace.set_span_in_context(trace.get_current_span()),
            severity_text="WARN",
            severity_number=SeverityNumber.WARN,
            body="stock is low: 残り 3",
            attributes={"sku": "a-1", "left": 3, "tags": ["x", "y"]},
        )
    )
    logger.emit(
        LogRecord(
            timestamp=now + 1,
            observed_timestamp=now + 6,
            severity_number=SeverityNumber.INFO,
            body={"answer": 42, "list": [1, "two"]},
            event_name="shop.opened",
        )
    )


def measure(meter):
    meter.create_counter("shop.orders", unit="1", description="Orders").add(7, {"region": "eu"})
    meter.create_up_down_counter("shop.open_carts").add(-2)
    meter.create_gauge("shop.temperature", unit="Cel").set(21.5, {"room": "küche"})
    latency = meter.create_histogram("shop.latency", unit="ms")
    sizes = meter.create_histogram("shop.size", unit="By")
    for value in (0.5, 7, 80, 900, 20_000):
        latency.record(value, {"route": "/cart"})
        sizes.record(value)


def main():
    spans, metrics, logs = exporters()
    resource = Resource(
        {"service.name": "py-shop", "service.version": "1.2.3", "host.cpus": 8, "roles": ["a", "b"]},
        schema_url="https://opentelemetry.io/schemas/1.36.0",
    )
    tracers = TracerProvider(resource=resource)
    tracers.add_span_processor(BatchSpanProcessor(kept(spans, "traces", encode_spans)))
    view = View(
        instrument_name="shop.size", aggregation=ExponentialBucketHistogramAggregation(max_size=20)
    )
    reader = PeriodicExportingMetricReader(
        kept(metrics, "metrics", encode_metrics), export_interval_millis=3_600_000
    )
    meters = MeterProvider(metric_readers=[reader], resource=resource, views=[view])
    loggers = LoggerProvider(resource=resource)
    loggers.add_log_record_processor(BatchLogRecordProcessor(kept(logs, "logs", encode_logs)))

    measure(meters.get_meter("shop.meter", "0.9"))
    make_spans(tracers.get_tracer("shop.tracer", "2.0"), loggers.get_logger("shop.logger"), tracers)
    for provider in (tracers, meters, loggers):
        provider.shutdown()
    encoded = {
        signal: [base64.b64encode(body).decode() for body in bodies]
        for signal, bodies in requests.items()
    }
    print(json.dumps(encoded))


main()
