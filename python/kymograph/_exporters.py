"""OpenTelemetry's exporters for what the core has resolved."""

from __future__ import annotations

import importlib
from typing import Any, Dict, Tuple

#: By signal: the exporter, which is called the same in the package of each protocol, and those to
#: the console.
_EXPORTERS: Dict[str, Tuple[str, Tuple[str, ...]]] = {
    "traces": (
        "trace_exporter.OTLPSpanExporter",
        ("opentelemetry.sdk.trace.export.ConsoleSpanExporter",),
    ),
    "metrics": (
        "metric_exporter.OTLPMetricExporter",
        ("opentelemetry.sdk.metrics.export.ConsoleMetricExporter",),
    ),
    "logs": (
        "_log_exporter.OTLPLogExporter",
        # It was renamed.
        (
            "opentelemetry.sdk._logs.export.ConsoleLogRecordExporter",
            "opentelemetry.sdk._logs.export.ConsoleLogExporter",
        ),
    ),
}

#: By protocol: the package of its exporters, where that says how it compresses and what it calls
#: gzip and nothing, and how the package is installed.
_PACKAGES: Dict[str, Tuple[str, Tuple[str, str, str], str]] = {
    "grpc": (
        "opentelemetry.exporter.otlp.proto.grpc",
        ("grpc.Compression", "Gzip", "NoCompression"),
        "pip install 'kymograph[otel]'",
    ),
    "http/protobuf": (
        "opentelemetry.exporter.otlp.proto.http",
        ("opentelemetry.exporter.otlp.proto.http.Compression", "Gzip", "NoCompression"),
        "pip install 'kymograph[otel]'",
    ),
    "http/json": (
        "opentelemetry.exporter.otlp.json.http",
        ("opentelemetry.exporter.otlp.common.http.Compression", "GZIP", "NONE"),
        "pip install 'kymograph[otel-json]', or choose http/protobuf or grpc",
    ),
}


def exporter(signal: str, place: Any) -> Any:
    """An exporter of a signal: to the console, or to a server by gRPC or HTTP."""
    name, console = _EXPORTERS[signal]
    if place == "console":
        return _first(console)()
    protocol = place["protocol"]
    package, (compression, gzip, nothing), remedy = _PACKAGES[protocol]
    try:
        made = _first((f"{package}.{name}",))
        compressed = _first((compression,))
    except ImportError as error:
        raise ImportError(f"the exporter for {protocol} is missing ({error}): {remedy}") from error
    options: Dict[str, Any] = {
        "endpoint": place["endpoint"],
        "headers": dict(place["headers"]),
        "timeout": max(1, round(place["timeout"])),
        "compression": getattr(compressed, gzip if place["gzip"] else nothing),
    }
    if protocol == "grpc":
        options["insecure"] = place["endpoint"].startswith("http://")
        # Names of metadata are lower case in gRPC.
        options["headers"] = tuple((key.lower(), value) for key, value in place["headers"])
    return made(**options)


def _first(paths: Tuple[str, ...]) -> Any:
    """The first of those that there are."""
    for path in paths:
        module, name = path.rsplit(".", 1)
        found = getattr(importlib.import_module(module), name, None)
        if found is not None:
            return found
    raise ImportError(f"there is no {paths[0]}")
