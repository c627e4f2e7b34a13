"""OpenTelemetry's exporters for what the core has resolved."""

from __future__ import annotations

import importlib
from typing import Any, Dict, Tuple

#: Where each signal's exporter is: over gRPC, over HTTP, to the console.
_EXPORTERS: Dict[str, Tuple[str, str, Tuple[str, ...]]] = {
    "traces": (
        "trace_exporter.OTLPSpanExporter",
        "trace_exporter.OTLPSpanExporter",
        ("opentelemetry.sdk.trace.export.ConsoleSpanExporter",),
    ),
    "metrics": (
        "metric_exporter.OTLPMetricExporter",
        "metric_exporter.OTLPMetricExporter",
        ("opentelemetry.sdk.metrics.export.ConsoleMetricExporter",),
    ),
    "logs": (
        "_log_exporter.OTLPLogExporter",
        "_log_exporter.OTLPLogExporter",
        # It was renamed.
        (
            "opentelemetry.sdk._logs.export.ConsoleLogRecordExporter",
            "opentelemetry.sdk._logs.export.ConsoleLogExporter",
        ),
    ),
}


def exporter(signal: str, place: Any) -> Any:
    """An exporter of a signal: to the console, or to a server by gRPC or HTTP."""
    grpc, http, console = _EXPORTERS[signal]
    if place == "console":
        return _first(console)()
    timeout = max(1, round(place["timeout"]))
    if place["protocol"] == "grpc":
        made = _otlp(f"opentelemetry.exporter.otlp.proto.grpc.{grpc}")
        from grpc import Compression

        return made(
            endpoint=place["endpoint"],
            insecure=place["endpoint"].startswith("http://"),
            # Names of metadata are lower case in gRPC.
            headers=tuple((name.lower(), value) for name, value in place["headers"]),
            timeout=timeout,
            compression=Compression.Gzip if place["gzip"] else Compression.NoCompression,
        )
    if place["protocol"] == "http/json":
        raise ValueError(
            "OpenTelemetry's SDK for Python does not write http/json: use http/protobuf or grpc"
        )
    made = _otlp(f"opentelemetry.exporter.otlp.proto.http.{http}")
    module = importlib.import_module("opentelemetry.exporter.otlp.proto.http")
    return made(
        endpoint=place["endpoint"],
        headers=dict(place["headers"]),
        timeout=timeout,
        compression=module.Compression.Gzip if place["gzip"] else module.Compression.NoCompression,
    )


def _otlp(path: str) -> Any:
    try:
        return _first((path,))
    except ImportError as error:
        raise ImportError(
            f"an exporter is missing ({error}): pip install 'kymograph[otel]'"
        ) from error


def _first(paths: Tuple[str, ...]) -> Any:
    """The first of those that there are."""
    for path in paths:
        module, name = path.rsplit(".", 1)
        found = getattr(importlib.import_module(module), name, None)
        if found is not None:
            return found
    raise ImportError(f"there is no {paths[0]}")
