"""Caddy and nginx, with the files of deploy/, lead each path where it belongs.

    proxies.py DEPLOY PROXIES [KYMO]

PROXIES is the directory of caddy and nginx (scripts/proxies). Paths and headers are told by an upstream that
echoes; with KYMO, OTLP over gRPC and HTTP, links, pages and received metrics go through both proxies to real
servers too.
"""

import contextlib
import functools
import http.client
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

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
# Links of the systems that this stands in for, and the pages of ours that they lead to.
LINKS = [
    ("/jaeger/trace/0af7651916cd43dd8448eb211c80319c", "/trace/0af7651916cd43dd8448eb211c80319c"),
    ("/prometheus/graph?g0.expr=up", "/explore/metrics?q=up"),
    ("/grafana/d/abc/name", "/d/abc"),
]
# What the server tells of itself, and of nothing that it received.
OWN_METRIC = "kymo_connections_total"
REQUEST_TIMEOUT_SECS = 30
DOCTOR_TIMEOUT_SECS = 120
METRICS_TIMEOUT_SECS = 30


def request(port, path, host="localhost", method="GET", body=None, headers=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=REQUEST_TIMEOUT_SECS)
    with contextlib.closing(connection):
        connection.request(method, path, body, {"Host": host, **(headers or {})})
        answer = connection.getresponse()
        text = answer.read()
    with contextlib.suppress(ValueError):
        return answer.status, json.loads(text)
    return answer.status, {
        "location": answer.getheader("Location"),
        "type": answer.getheader("Content-Type") or "",
        "text": text.decode(errors="replace"),
    }


def answers(port):
    """Whether somebody answers there, whatever the answer."""
    return lambda: request(port, "/")[0] > 0


def caddy(program, config, upstreams):
    """Caddy with a file of deploy/; gives its port, and the one for OTLP over gRPC."""
    main, received, otlp = upstreams
    address = "127.0.0.1:{}".format

    def start(ports, folder):
        port, grpc_port = ports
        environment = servers.clean_environment() | {
            "XDG_DATA_HOME": folder,
            "XDG_CONFIG_HOME": folder,
            "HOME": folder,
            "KYMO_SITE": f"http://localhost:{port}",
            "KYMO_OTHER": f"http://:{port}",
            "KYMO_GRPC": f"http://:{grpc_port}",
            "KYMO_UPSTREAM_OTLP": address(otlp),
            "KYMO_UPSTREAM_METRICS": address(received),
            "KYMO_UPSTREAM_KEPT": address(main),
            **{f"KYMO_UPSTREAM{end}": address(main) for end in ("", "_JAEGER", "_PROMETHEUS", "_GRAFANA")},
        }
        arguments = [program, "run", "--adapter", "caddyfile", "--config", str(config)]
        return servers.process("caddy", arguments, answers(port), folder, environment)

    return servers.on_free_ports(2, start)


def nginx(program, config, upstreams):
    """nginx with a file of deploy/; gives its port, and the one for OTLP over gRPC."""
    main, received, otlp = upstreams

    def start(ports, folder):
        # nginx takes no variables: the file as it is, with the ports of this check.
        text = config.read_text()
        for usual, ours in ((80, ports[0]), (4317, ports[1])):
            text = re.sub(rf"listen {usual}\b", f"listen 127.0.0.1:{ours}", text)
        text = re.sub(r"(upstream kymo_otlp {\s+server) [\d.:]+", rf"\1 127.0.0.1:{otlp}", text)
        for usual, ours in ((3200, main), (8889, received)):
            text = text.replace(f"127.0.0.1:{usual};", f"127.0.0.1:{ours};")
            text = text.replace(f"127.0.0.1:{usual}/;", f"127.0.0.1:{ours}/;")
        pathlib.Path(folder, "kymo.conf").write_text(text)
        temporary = "".join(
            f"{kind}_temp_path {folder}/{kind};"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        pathlib.Path(folder, "nginx.conf").write_text(
            f"daemon off; worker_processes 1; master_process off; pid {folder}/pid; error_log stderr; events {{}}"
            f" http {{ access_log off; {temporary} include {folder}/kymo.conf; }}"
        )
        arguments = [program, "-p", folder, "-e", "stderr", "-c", f"{folder}/nginx.conf"]
        return servers.process("nginx", arguments, answers(ports[0]), folder, None)

    return servers.on_free_ports(2, start)


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


def check_send(findings, name, kymo, port, grpc_port):
    """OTLP through the proxy, over gRPC and over HTTP, and a question."""
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
            env=servers.clean_environment(),
            check=False,
            timeout=DOCTOR_TIMEOUT_SECS,
        )
        findings.expect(told.returncode == 0, f"{name}: OTLP by {protocol}: {told.stdout}{told.stderr}")


def check_pages(findings, name, port, prefix):
    """Links of other systems lead to pages of ours, through the proxy and below its prefix."""
    for link, page in LINKS:
        status, told = request(port, f"{prefix}{link}")
        place = told.get("location") or ""
        if not findings.expect(
            300 <= status < 400 and place.startswith(f"{prefix}{page}"),
            f"{name}: {prefix}{link} is {status} {told}",
        ):
            continue
        status, told = request(port, place)
        findings.expect(
            status == 200 and told.get("type", "").startswith("text/html"),
            f"{name}: {place} is {status} {told}",
        )
    status, told = request(port, f"{prefix}/jaeger/api/services")
    findings.expect(status == 200 and "data" in told, f"{name}: {prefix}/jaeger/api/services is {status} {told}")


def check_metrics(findings, name, port, server):
    """/metrics has what was received, and nothing of what the server tells of itself."""
    point = {"asInt": "7", "timeUnixNano": str(time.time_ns())}
    metric = {"name": f"sent_through_{name}", "gauge": {"dataPoints": [point]}}
    body = json.dumps({"resourceMetrics": [{"scopeMetrics": [{"metrics": [metric]}]}]}).encode()
    status, told = request(
        port, "/v1/metrics", method="POST", body=body, headers={"Content-Type": "application/json"}
    )
    findings.expect(status == 200, f"{name}: /v1/metrics is {status} {told}")

    def is_shown():
        status, told = request(port, "/metrics")
        return status == 200 and metric["name"] in told["text"] and OWN_METRIC not in told["text"]

    try:
        servers.wait_until("received metrics", is_shown, timeout_secs=METRICS_TIMEOUT_SECS)
    except RuntimeError as error:
        findings.expect(False, f"{name}: /metrics: {error}: {request(port, '/metrics')}")
    own = servers.ask(f"{server.url}/metrics")[1]
    findings.expect(OWN_METRIC in own, f"{name}: the server does not tell {OWN_METRIC} of itself")


def check_real(findings, name, start, kymo, site, below_path):
    """The same files in front of real servers: as they are, with the prefix stripped, with it kept."""
    trusting = ["--no-probe", "--trusted-proxies", "127.0.0.1"]
    with servers.running(kymo, *trusting) as server:
        ports = server.http_port, server.metrics_port, server.grpc_port
        with start(site, ports) as (port, grpc_port):
            check_send(findings, name, kymo, port, grpc_port)
            check_pages(findings, name, port, "")
            check_metrics(findings, name, port, server)
        with start(below_path, ports) as (port, _):
            check_pages(findings, name, port, "/kymo")
    with servers.running(kymo, *trusting, base_path="/kept") as server:
        with start(below_path, (server.http_port, server.metrics_port, server.grpc_port)) as (port, _):
            check_pages(findings, name, port, "/kept")


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
        for name, proxy, site, below_path in proxies:
            start = functools.partial(proxy, str(programs / name))
            with start(deploy / site, (main_port, received_port, main_port)) as (port, _):
                check_routes(findings, name, port)
            with start(deploy / below_path, (main_port, received_port, main_port)) as (port, _):
                check_below_path(findings, name, port)
            if kymo:
                check_real(findings, name, start, kymo, deploy / site, deploy / below_path)
    findings.end()


main()
