"""A server that takes OTLP over HTTP and gRPC on free ports, and keeps what it gets."""

import threading
from concurrent import futures
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import grpc
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2 as logs
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as metrics
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as traces

_REQUESTS = {
    "traces": (traces.ExportTraceServiceRequest, traces.ExportTraceServiceResponse),
    "metrics": (metrics.ExportMetricsServiceRequest, metrics.ExportMetricsServiceResponse),
    "logs": (logs.ExportLogsServiceRequest, logs.ExportLogsServiceResponse),
}
_SERVICES = {
    "traces": "opentelemetry.proto.collector.trace.v1.TraceService",
    "metrics": "opentelemetry.proto.collector.metrics.v1.MetricsService",
    "logs": "opentelemetry.proto.collector.logs.v1.LogsService",
}


def _value(value):
    kind = value.WhichOneof("value")
    return getattr(value, kind) if kind else None


def plain(attributes):
    """Attributes as a dictionary."""
    return {attribute.key: _value(attribute.value) for attribute in attributes}


class Sink:
    """What was sent, by signal."""

    def __init__(self):
        self.requests = {signal: [] for signal in _REQUESTS}
        self.headers = []
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        self._grpc = grpc.server(futures.ThreadPoolExecutor(2))
        for signal, service in _SERVICES.items():
            request, response = _REQUESTS[signal]
            export = grpc.unary_unary_rpc_method_handler(
                self._taker(signal, response),
                request_deserializer=request.FromString,
                response_serializer=response.SerializeToString,
            )
            handler = grpc.method_handlers_generic_handler(service, {"Export": export})
            self._grpc.add_generic_rpc_handlers((handler,))
        self.grpc_url = f"http://127.0.0.1:{self._grpc.add_insecure_port('127.0.0.1:0')}"
        self.http_url = f"http://127.0.0.1:{self._http.server_port}"
        self._grpc.start()

    def _taker(self, signal, response):
        def take(request, context):
            self.headers.append(dict(context.invocation_metadata()))
            self.requests[signal].append(request)
            return response()

        return take

    def _handler(sink):
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                signal = self.path.rsplit("/", 1)[-1]
                request, response = _REQUESTS[signal]
                body = self.rfile.read(int(self.headers["content-length"]))
                sink.headers.append(dict(self.headers))
                sink.requests[signal].append(request.FromString(body))
                answer = response().SerializeToString()
                self.send_response(200)
                self.send_header("content-type", "application/x-protobuf")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *arguments):
                pass

        return Handler

    def close(self):
        self._http.shutdown()
        self._http.server_close()
        self._grpc.stop(None)

    def spans(self):
        """Spans, with the resource's attributes."""
        return [
            (span, plain(group.resource.attributes))
            for request in self.requests["traces"]
            for group in request.resource_spans
            for scope in group.scope_spans
            for span in scope.spans
        ]

    def records(self):
        """Log records."""
        return [
            record
            for request in self.requests["logs"]
            for group in request.resource_logs
            for scope in group.scope_logs
            for record in scope.log_records
        ]

    def metrics(self):
        """The last state of each metric, by name."""
        return {
            metric.name: metric
            for request in self.requests["metrics"]
            for group in request.resource_metrics
            for scope in group.scope_metrics
            for metric in scope.metrics
        }
