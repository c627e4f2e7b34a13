"""An upstream that tells what a proxy made of a request: its name, the path and the headers, as JSON."""

import contextlib
import http.server
import json
import threading


def handler(name):
    class Echo(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self):
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length)
            told = {
                "upstream": name,
                "path": self.path,
                "method": self.command,
                "body_bytes": len(body),
                "headers": {key.lower(): value for key, value in self.headers.items()},
            }
            text = json.dumps(told).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_PUT = do_DELETE = answer

        def log_message(self, *_arguments):
            """Requests are no news here."""

    return Echo


@contextlib.contextmanager
def echo(name):
    """An upstream that listens; gives its port."""
    listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler(name))
    listener.daemon_threads = True
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    try:
        yield listener.server_port
    finally:
        listener.shutdown()
        listener.server_close()
