"""A receiver of OTLP that wants certificates of its clients: gRPC and HTTP.

usage: tls_sink.py DIR, with ca.pem, server.pem and server.key in it. Prints its ports, then a line for
each request that it takes: protocol and spans.
"""

import ssl
import sys
import threading
from concurrent import futures
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as messages
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc as services

place = Path(sys.argv[1])


def taken(protocol, request):
    spans = sum(len(s.spans) for r in request.resource_spans for s in r.scope_spans)
    print(protocol, spans, flush=True)


class Grpc(services.TraceServiceServicer):
    def Export(self, request, context):
        taken("grpc", request)
        return messages.ExportTraceServiceResponse()


class Http(BaseHTTPRequestHandler):
    def log_message(self, *arguments):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        taken("http", messages.ExportTraceServiceRequest.FromString(body))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()


key, certificate, authority = (
    (place / name).read_bytes() for name in ("server.key", "server.pem", "ca.pem")
)
credentials = grpc.ssl_server_credentials([(key, certificate)], authority, True)
server = grpc.server(futures.ThreadPoolExecutor(2))
services.add_TraceServiceServicer_to_server(Grpc(), server)
grpc_port = server.add_secure_port("127.0.0.1:0", credentials)
server.start()

context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(place / "server.pem", place / "server.key")
context.load_verify_locations(place / "ca.pem")
context.verify_mode = ssl.CERT_REQUIRED
http = ThreadingHTTPServer(("127.0.0.1", 0), Http)
http.socket = context.wrap_socket(http.socket, server_side=True)
threading.Thread(target=http.serve_forever, daemon=True).start()

print(grpc_port, http.server_port, flush=True)
# Until nobody wants it any more.
sys.stdin.read()
