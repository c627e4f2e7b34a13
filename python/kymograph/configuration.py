"""Traces, metrics and logs of a service, by Python's own OpenTelemetry SDK.

    kymograph.configure(service_name="trainer", enabled=True)

What wins over what is the same as in Rust, since the core reads it: what is given here, then the
configuration file, then ``KYMO_OTLP_ENDPOINT``, then ``OTEL_*``, then gRPC to ``localhost:4317``.
It is off unless it is switched on. ``KYMO_OTEL_DEBUG=1`` writes everything to stdout instead, also
if there is an endpoint. ``OTEL_SDK_DISABLED=true`` switches it off.

Providers that the program has set already stay: OpenTelemetry can be set up once.
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import socket
import threading
import time
from typing import Any, Dict, List, Mapping, Optional, Union

from . import _core
from ._exporters import exporter
from ._values import seconds

_log = logging.getLogger("kymograph")
_lock = threading.Lock()
_service: Optional["Service"] = None

#: Milliseconds between two exports of metrics, unless somebody says otherwise. The SDK's own minute
#: is long when one waits for a first number.
METRICS_EVERY_MILLIS = 10_000


class Service:
    """What :func:`configure` has set up."""

    def __init__(self) -> None:
        self.is_enabled = False
        self.tracer_provider: Any = None
        self.meter_provider: Any = None
        self.logger_provider: Any = None
        self._log_handler: Optional[logging.Handler] = None

    def flush(self, timeout: float = 5.0) -> bool:
        """Waits until everything so far is sent; false if that takes longer. Raises
        ``ValueError`` for a timeout that is none."""
        millis = int(seconds(timeout) * 1000)
        return all([one.force_flush(millis) for one in self._providers()])

    def _providers(self) -> List[Any]:
        found = (self.tracer_provider, self.meter_provider, self.logger_provider)
        return [one for one in found if one is not None]

    def _shutdown(self, timeout: float) -> bool:
        if not self.is_enabled:
            return True
        if self._log_handler is not None:
            logging.getLogger().removeHandler(self._log_handler)
            self._log_handler = None
        self.is_enabled = False
        # Side by side, since a server that does not answer holds each as long as the SDK tries
        # again, whatever it is told. Daemons, so that the program can end meanwhile.
        threads = []
        for one in self._providers():
            # The SDK's own, at the interpreter's end, would be a second one.
            atexit.unregister(one.shutdown)
            thread = threading.Thread(
                target=_end_provider, args=(one,), name="kymograph-shutdown", daemon=True
            )
            thread.start()
            threads.append(thread)
        until = time.monotonic() + timeout
        for thread in threads:
            thread.join(max(until - time.monotonic(), 0.0))
        return not any(thread.is_alive() for thread in threads)


def _end_provider(provider: Any) -> None:
    try:
        provider.shutdown()
    except Exception:
        _log.warning("OpenTelemetry could not be shut down", exc_info=True)


def configure(
    service_name: Optional[str] = None,
    enabled: Optional[bool] = None,
    otlp_endpoint: Optional[str] = None,
    resource_attributes: Optional[Mapping[str, Any]] = None,
    config: Union[str, "os.PathLike[str]", None] = None,
    prefix: Optional[str] = None,
    *,
    protocol: Optional[str] = None,
    headers: Optional[Mapping[str, str]] = None,
    traces: bool = True,
    metrics: bool = True,
    logs: bool = True,
    log_level: int = logging.INFO,
    resource_metrics: Optional[bool] = None,
    metrics_interval: Optional[float] = None,
    debug: bool = False,
) -> Service:
    """Sets up OpenTelemetry. Call it once, early; a second call warns and changes nothing.

    :param service_name: ``service.name``; ``OTEL_SERVICE_NAME`` unless given
    :param enabled: whether there is any telemetry; no, unless said here or in ``config``
    :param otlp_endpoint: a server that speaks OTLP; see above for what else may name it
    :param resource_attributes: attributes of the resource; ``service.name`` among them wins
    :param config: a YAML file with ``enabled``, ``service_name``, ``otlp_endpoint``,
        ``otlp_protocol``, ``resource_attributes``, ``metric_prefix``, ``metrics_every_seconds``,
        ``resource_metrics``, on top or below ``telemetry:``
    :param prefix: what the names of resource metrics begin with; the service's name unless given
    :param protocol: ``grpc``, ``http/protobuf`` or ``http/json`` (which needs
        ``kymograph[otel-json]``); by the port unless given
    :param traces: whether spans are sent; ``metrics`` and ``logs`` likewise
    :param log_level: the least level of log records that are sent; what loggers and other handlers
        do is not changed
    :param resource_metrics: whether processor, memory and GPUs are measured; they are
    :param metrics_interval: seconds between exports of metrics
    :param debug: everything to stdout

    Raises ``ValueError`` for what cannot be understood, ``ImportError`` without OpenTelemetry or
    the exporter of the protocol.
    """
    global _service
    with _lock:
        if _service is not None:
            _log.warning("kymograph.configure() was called before: the first call stands")
            return _service
        settings = _Settings(config)
        settings.prefer("enabled", enabled)
        settings.prefer("service_name", service_name)
        settings.prefer("otlp_endpoint", otlp_endpoint)
        settings.prefer("otlp_protocol", protocol)
        settings.prefer("metric_prefix", prefix)
        settings.prefer("resource_metrics", resource_metrics)
        settings.prefer("metrics_every_seconds", metrics_interval)
        settings.attributes.update(resource_attributes or {})
        service = Service()
        if not settings["enabled"] or _is_true("OTEL_SDK_DISABLED"):
            return service
        try:
            import opentelemetry.sdk  # noqa: F401
        except ImportError as error:
            raise ImportError(
                "kymograph.configure() needs OpenTelemetry: pip install 'kymograph[otel]'"
            ) from error
        is_console = debug or _is_true("KYMO_OTEL_DEBUG")
        places: Dict[str, Any] = dict.fromkeys(("traces", "metrics", "logs"), "console")
        if not is_console:
            places = _core.export_settings(
                settings["otlp_endpoint"], settings["otlp_protocol"], list((headers or {}).items())
            )
        resource = _resource(settings)
        if traces and places["traces"] is not None:
            service.tracer_provider = _traces(resource, places["traces"])
        if metrics and places["metrics"] is not None:
            service.meter_provider = _metrics(resource, places["metrics"], settings)
        if logs and places["logs"] is not None:
            service.logger_provider = _logs(resource, places["logs"])
            from ._logs import Handler

            service._log_handler = Handler(service.logger_provider, log_level)
            logging.getLogger().addHandler(service._log_handler)
        service.is_enabled = True
        _service = service
        return service


def shutdown(timeout: float = 5.0) -> bool:
    """Sends what is left and ends it; false if that takes longer than ``timeout`` seconds. Does
    nothing if nothing was set up. ``math.inf`` waits as long as it takes.

    Raises ``ValueError`` for a timeout that is none; telemetry then goes on.

    OpenTelemetry's providers are set once in a process: after this there is no telemetry.
    """
    longest = seconds(timeout)
    with _lock:
        service = _service
    return service is None or service._shutdown(longest)


class _Settings:
    """What the file says, and what was given instead."""

    def __init__(self, config: Union[str, "os.PathLike[str]", None]) -> None:
        self._keys: Dict[str, Any] = {} if config is None else _core.read_config(os.fspath(config))
        self.attributes: Dict[str, Any] = dict(self._keys.get("resource_attributes") or {})

    def prefer(self, key: str, value: Any) -> None:
        if value is not None:
            self._keys[key] = value

    def __getitem__(self, key: str) -> Any:
        return self._keys.get(key)


def _is_true(variable: str) -> bool:
    return os.environ.get(variable, "").strip().lower() in ("1", "true")


def _resource(settings: _Settings) -> Any:
    from opentelemetry.sdk.resources import Resource

    attributes = dict(settings.attributes)
    if settings["service_name"] is not None:
        attributes.setdefault("service.name", settings["service_name"])
    # What is explicit wins over OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME, and these over
    # what is only found out.
    found = Resource({"host.name": socket.gethostname(), "process.pid": os.getpid()})
    return found.merge(Resource.create()).merge(Resource(attributes))


def _traces(resource: Any, place: Any) -> Any:
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor

    from ._shared import share_span_processor

    provider = TracerProvider(resource=resource)
    provider.add_span_processor(share_span_processor())
    is_console = place == "console"
    send = exporter("traces", place)
    provider.add_span_processor(
        SimpleSpanProcessor(send) if is_console else BatchSpanProcessor(send)
    )
    trace.set_tracer_provider(provider)
    return provider


def _metrics(resource: Any, place: Any, settings: _Settings) -> Any:
    from opentelemetry import metrics
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

    from ._resources import observe
    from ._shared import share_view

    every: Optional[float] = None
    if settings["metrics_every_seconds"] is not None:
        every = settings["metrics_every_seconds"] * 1000
    elif not os.environ.get("OTEL_METRIC_EXPORT_INTERVAL", "").strip():
        every = METRICS_EVERY_MILLIS
    reader = PeriodicExportingMetricReader(exporter("metrics", place), export_interval_millis=every)
    provider = MeterProvider([reader], resource=resource, views=[share_view()])
    metrics.set_meter_provider(provider)
    if settings["resource_metrics"] is not False:
        named = settings["metric_prefix"] or str(resource.attributes.get("service.name"))
        # Names of instruments have few characters; a service may be called anything.
        observe(provider, re.sub(r"[^A-Za-z0-9_.\-/]", "_", named))
    return provider


def _logs(resource: Any, place: Any) -> Any:
    from opentelemetry._logs import set_logger_provider
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs import export as log_export

    from ._shared import share_log_processor

    provider = LoggerProvider(resource=resource)
    # In this order: a record has its keys before it is sent.
    processors: List[Any] = [share_log_processor()]
    send = exporter("logs", place)
    if place == "console":
        processors.append(log_export.SimpleLogRecordProcessor(send))
    else:
        processors.append(log_export.BatchLogRecordProcessor(send))
    for processor in processors:
        provider.add_log_record_processor(processor)
    set_logger_provider(provider)
    return provider
