"""Caddy and nginx, with the files of deploy/, lead each path where it belongs.

    proxies.py DEPLOY PROXIES [KYMO]

PROXIES is the directory of caddy and nginx (scripts/proxies). Paths and headers are told by an upstream that
echoes; with KYMO, OTLP over gRPC and HTTP goes through both proxies to a real server too.
"""

import contextlib
import http.client
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import server as servers
import upstream
from findings import Findings

# Where each path of the sites goes, and what it is there. None is an answer of the proxy itself.
ROUTES = [
    ("/", "main"),
    ("/jaeger", "main"),
    ("/jaeger/api/services", "main"),
    ("/prometheus/graph?g0.expr=up", "main"),
    ("/grafana/d/x/y", "main"),
    ("/tempo/api/echo", "main"),
    ("/loki/api/v1/labels", "main"),
    ("/api/sessions", "main"),
    ("/v1/traces", "main"),
    ("/ofrep/v1/evaluate/flags/x", "main"),
    ("/ready", "main"),
    ("/metrics", "received"),
    ("/trace/0af7651916cd43dd8448eb211c80319c", "main"),
    ("/caddy/health/", None),
]


def request(port, path, host="localhost", method="GET", body=None, headers=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    with contextlib.closing(connection):
        connection.request(method, path, body, {"Host": host, **(headers or {})})
        answer = connection.getresponse()
        text = answer.read()
    with contextlib.suppress(ValueError):
        return answer.status, json.loads(text)
    return answer.status, {"location": answer.getheader("Location")}


@contextlib.contextmanager
def started(arguments, port, environment=None):
    process = subprocess.Popen(
        arguments,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(environment or {})},
    )
    try:
        try:
            servers.wait_until(arguments[0], lambda: request(port, "/")[0] > 0, process)
        except RuntimeError as error:
            process.kill()
            raise RuntimeError(f"{error}: {process.stderr.read()[-2000:]}") from error
        yield
    finally:
        process.terminate()
        process.communicate()


@contextlib.contextmanager
def caddy(program, config, port, grpc_port, upstreams):
    main, received, otlp = upstreams
    address = "127.0.0.1:{}".format
    environment = {
        "KYMO_SITE": f"http://localhost:{port}",
        "KYMO_OTHER": f"http://:{port}",
        "KYMO_GRPC": f"http://:{grpc_port}",
        "KYMO_UPSTREAM_OTLP": address(otlp),
        "KYMO_UPSTREAM_METRICS": address(received),
        **{
            f"KYMO_UPSTREAM{end}": address(main)
            for end in ("", "_JAEGER", "_PROMETHEUS", "_GRAFANA", "_KEPT")
        },
    }
    with tempfile.TemporaryDirectory() as folder:
        environment |= {"XDG_DATA_HOME": folder, "XDG_CONFIG_HOME": folder, "HOME": folder}
        arguments = [program, "run", "--adapter", "caddyfile", "--config", str(config)]
        with started(arguments, port, environment):
            yield


@contextlib.contextmanager
def nginx(program, config, port, grpc_port, upstreams):
    main, received, otlp = upstreams
    text = config.read_text()
    # nginx takes no variables: the file as it is, with the ports of this check.
    text = re.sub(r"listen 80\b", f"listen 127.0.0.1:{port}", text)
    text = re.sub(r"listen 4317\b", f"listen 127.0.0.1:{grpc_port}", text)
    for usual, ours in ((3200, main), (8889, received), (4317, otlp)):
        text = text.replace(f"127.0.0.1:{usual}", f"127.0.0.1:{ours}")
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "kymo.conf").write_text(text)
        temporary = "".join(
            f"{kind}_temp_path {folder}/{kind};"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        (pathlib.Path(folder) / "nginx.conf").write_text(
            f"daemon off; worker_processes 1; master_process off; pid {folder}/pid; error_log stderr; events {{}}"
            f" http {{ access_log off; {temporary} include {folder}/kymo.conf; }}"
        )
        with started([program, "-p", folder, "-e", "stderr", "-c", f"{folder}/nginx.conf"], port):
            yield


def check_routes(findings, name, port):
    for path, wanted in ROUTES:
        status, told = request(port, path)
        if wanted is None:
            findings.expect(status == 200 and "upstream" not in told, f"{name}: {path} is {status} {told}")
        else:
            findings.expect(
                (status, told.get("upstream"), told.get("path")) == (200, wanted, path),
                f"{name}: {path} is {status} {told}",
            )
    for host in ("other.example", "127.0.0.1"):
        status, _ = request(port, "/jaeger/", host)
        findings.expect(status == 400, f"{name}: the host {host} is answered with {status}")
    # What a client says of itself does not get through.
    lies = {
        "X-Forwarded-For": "10.1.2.3",
        "X-Forwarded-Proto": "gopher",
        "X-Forwarded-Host": "evil.example",
        "X-Forwarded-Prefix": "/lie",
        "X-Forwarded-Port": "1",
        "Forwarded": "for=10.1.2.3;host=evil.example",
    }
    _, told = request(port, "/api/sql", method="POST", body=b"x" * 100_000, headers=lies)
    headers = told["headers"]
    findings.expect(told["body_bytes"] == 100_000, f"{name}: the body has {told['body_bytes']} bytes")
    for header in ("forwarded", "x-forwarded-prefix", "x-forwarded-port"):
        findings.expect(not headers.get(header), f"{name}: {header} of a client gets through")
    findings.expect(
        headers.get("x-forwarded-for") == "127.0.0.1", f"{name}: for {headers.get('x-forwarded-for')}"
    )
    findings.expect(
        headers.get("x-forwarded-proto") == "http", f"{name}: proto {headers.get('x-forwarded-proto')}"
    )
    findings.expect(
        headers.get("x-forwarded-host", "").startswith("localhost"),
        f"{name}: host {headers.get('x-forwarded-host')}",
    )


def check_below_path(findings, name, port):
    _, told = request(port, "/kymo/tempo/api/echo?x=%2F")
    findings.expect(told.get("path") == "/tempo/api/echo?x=%2F", f"{name}: stripped is {told}")
    findings.expect(
        told.get("headers", {}).get("x-forwarded-prefix") == "/kymo", f"{name}: stripped is {told}"
    )
    _, told = request(
        port, "/kept/tempo/api/echo", headers={"X-Forwarded-Prefix": "/lie", "Forwarded": "for=10.1.2.3"}
    )
    findings.expect(told.get("path") == "/kept/tempo/api/echo", f"{name}: kept is {told}")
    for header in ("forwarded", "x-forwarded-prefix"):
        findings.expect(not told.get("headers", {}).get(header), f"{name}: {header} of a client gets through")
    for path in ("/kymo", "/kept"):
        status, told = request(port, path)
        findings.expect(
            300 <= status < 400 and (told["location"] or "").endswith(f"{path}/"),
            f"{name}: {path} is {status} {told}",
        )
    findings.expect(request(port, "/else")[0] == 404, f"{name}: other paths are answered")


def check_real(findings, name, kymo, port, grpc_port):
    """OTLP through the proxy, over gRPC and over HTTP, and a question."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "KYMO_"))}
    ways = [("grpc", grpc_port), ("http/protobuf", port)]
    if name == "caddy":
        # nginx has one version of HTTP on a port without TLS, and browsers need that one to be 1.1.
        ways.append(("grpc", port))
    for protocol, sent_to in ways:
        told = subprocess.run(
            [
                kymo,
                "doctor",
                "--send",
                "--protocol",
                protocol,
                "--endpoint",
                f"http://localhost:{sent_to}",
                "--url",
                f"http://localhost:{port}",
                "--directory",
                tempfile.gettempdir(),
            ],
            capture_output=True,
            text=True,
            env=environment,
            check=False,
        )
        findings.expect(told.returncode == 0, f"{name}: OTLP by {protocol}: {told.stdout}{told.stderr}")


def main():
    deploy, programs = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    kymo = sys.argv[3] if len(sys.argv) > 3 else None
    findings = Findings("proxies")
    proxies = [
        ("caddy", caddy, "caddy/Caddyfile", "caddy/below-path.Caddyfile"),
        ("nginx", nginx, "nginx/kymo.conf", "nginx/below-path.conf"),
    ]
    with contextlib.ExitStack() as stack:
        main_port, received_port = (stack.enter_context(upstream.echo(name)) for name in ("main", "received"))
        real = stack.enter_context(servers.running(kymo, "--no-probe")) if kymo else None
        for name, start, site, below_path in proxies:
            program = str(programs / name)
            ports = servers.free_port(), servers.free_port()
            with start(program, deploy / site, *ports, (main_port, received_port, main_port)):
                check_routes(findings, name, ports[0])
            with start(program, deploy / below_path, *ports, (main_port, received_port, main_port)):
                check_below_path(findings, name, ports[0])
            if real:
                with start(
                    program, deploy / site, *ports, (real.http_port, real.metrics_port, real.grpc_port)
                ):
                    check_real(findings, name, kymo, *ports)
    findings.end()


main()
