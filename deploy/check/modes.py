"""The example configurations do what they are for: each is started as it is, and records go through it.

    modes.py DEPLOY KYMO

Only places are others: ports, the data directory, certificates (made by `kymo certs new`), and where the other
side is, which is a server of this check.
"""

import base64
import contextlib
import json
import pathlib
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import server as servers
from findings import Findings

# The five kinds of noise that the follower leaves out, as (name of the span, attributes).
NOISE = [
    ("context test", {"http.target": "/graph/list?skipContextTest=1", "http.status_code": 200}),
    ("worker check", {"http.route": "/check-workers", "http.status_code": 200}),
    ("read", {"http.target": "/worker/read/7", "http.status_code": 200}),
    ("health check", {"http.route": "/healthz"}),
    ("readHandler", {"http.status_code": 200}),
]
ADMIN_PASSWORD = "a long enough password"
ARRIVAL_TIMEOUT_SECS = 60


def attribute(key, value):
    return {"key": key, "value": {"intValue": value} if isinstance(value, int) else {"stringValue": value}}


def send(port, spans):
    """Sends spans, (name, attributes, whether it failed), each a trace of its own, over OTLP/HTTP."""
    now = time.time_ns()
    records = [
        {
            "traceId": f"{now + number:032x}",
            "spanId": f"{number + 1:016x}",
            "name": name,
            "kind": 2,
            "startTimeUnixNano": str(now),
            "endTimeUnixNano": str(now + 1_000_000),
            "attributes": [attribute(key, value) for key, value in attributes.items()],
            "status": {"code": 2 if failed else 0},
        }
        for number, (name, attributes, failed) in enumerate(spans)
    ]
    resource = {"attributes": [attribute("service.name", "example")]}
    body = {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": records}]}]}
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/traces", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=servers.ASK_TIMEOUT_SECS) as answer:
        return answer.status


def names(url, headers=None, context=None, columns="name"):
    """What a server has of the spans, by name."""
    query = json.dumps({"query": f"SELECT {columns} FROM spans ORDER BY name"}).encode()
    request = urllib.request.Request(
        f"{url}/api/sql", query, {"Content-Type": "application/json", **(headers or {})}
    )
    with urllib.request.urlopen(request, timeout=servers.ASK_TIMEOUT_SECS, context=context) as answer:
        return [row[0] if len(row) == 1 else row for row in json.load(answer)["rows"]]


def wait_for(findings, what, ask, wanted):
    """Waits until a question is answered as it is to be, and says what came instead."""
    try:
        servers.wait_until(what, lambda: ask() == wanted, timeout_secs=ARRIVAL_TIMEOUT_SECS)
    except RuntimeError as error:
        findings.expect(False, f"{error}: {ask()}, not {wanted}")
    else:
        findings.expect(True, what)


@contextlib.contextmanager
def mode(kymo, text, variables, scheme="http", verified=None):
    """A server with a configuration, and with addresses and a directory of its own."""
    with tempfile.TemporaryDirectory(prefix="kymo-deploy-") as folder:
        config = pathlib.Path(folder, "kymo.yaml")
        config.write_text(text)
        # Received metrics are shown from the store.
        exposes = "expose:" in text
        arguments = ["--config", str(config), "--no-probe"]
        with servers.running(
            kymo, *arguments, variables=variables, exposes=exposes, scheme=scheme, verified=verified
        ) as server:
            yield server


def check_packaged(findings, kymo, text):
    with mode(kymo, text, {}) as server:
        send(server.otlp_http_port, [("health check", {"http.route": "/healthz"}, False), ("kept", {}, False)])
        wait_for(findings, "packaged: what is kept", lambda: names(server.url), ["kept"])
        status, _ = servers.ask(f"http://127.0.0.1:{server.metrics_port}/metrics")
        findings.expect(status == 200, f"packaged: received metrics are {status}")


def check_forwarding(findings, kymo, text, hub):
    variables = {
        "OTEL_COLLECTOR_OTLP_HTTP_ENDPOINT": f"http://127.0.0.1:{hub.otlp_http_port}",
        "OTEL_COLLECTOR_OTLP_USERNAME": "user",
        "OTEL_COLLECTOR_OTLP_PASSWORD": "password",
    }
    with mode(kymo, text, variables) as server:
        send(server.otlp_http_port, [("handed on", {}, False)])
        wait_for(
            findings,
            "forwarding: what arrives",
            lambda: names(hub.url, columns='name, "span.system"'),
            [["handed on", "graphistry"]],
        )
        status, _ = servers.ask(f"{server.url}/api/sql", {})
        findings.expect(status == 404, f"forwarding: without a store, /api/sql is {status}")


def check_hybrid(findings, kymo, text, hub):
    # Not ten seconds, which is how long a trace may take before it is decided on; and nothing by chance.
    text = text.replace("wait: 10s", "wait: 1s").replace("ratio: 0.05, ", "")
    variables = {"HUB_ENDPOINT": f"http://127.0.0.1:{hub.grpc_port}", "HUB_TOKEN": "token"}
    with mode(kymo, text, variables) as server:
        send(server.otlp_http_port, [("failed", {}, True), ("went well", {}, False)])
        wait_for(findings, "hybrid: what is kept", lambda: names(server.url), ["failed", "went well"])
        wait_for(findings, "hybrid: what arrives", lambda: names(hub.url), ["failed"])


def check_chain(findings, kymo, follower, leader):
    """Follower to leader, by mutual TLS with certificates of our own authority."""
    with tempfile.TemporaryDirectory(prefix="kymo-deploy-") as folder:
        certs = f"{folder}/certs"
        subprocess.run(
            [kymo, "certs", "new", certs, "--name", "leader.example", "--client", "follower-a"],
            check=True,
            capture_output=True,
            env=servers.clean_environment(),
            timeout=60,
        )
        follower, leader = (text.replace("/etc/kymo/certs", certs) for text in (follower, leader))
        trusting = ssl.create_default_context(cafile=f"{certs}/ca.pem")
        login = base64.b64encode(f"admin:{ADMIN_PASSWORD}".encode()).decode()
        headers = {"Authorization": f"Basic {login}"}
        with mode(kymo, leader, {"ADMIN_PASSWORD": ADMIN_PASSWORD}, "https", trusting) as hub:
            variables = {
                "LEADER_OTEL_EXPORTER_OTLP_ENDPOINT": f"https://localhost:{hub.grpc_port}",
                "GRAPHISTRY_INSTANCE_NAME": "follower-a",
            }
            with mode(kymo, follower, variables) as server:
                send(server.otlp_http_port, [(*noise, False) for noise in NOISE] + [("work", {}, False)])
                columns = 'name, "span.system", "span.graphistry_instance"'
                wait_for(
                    findings,
                    "chain: what arrives",
                    lambda: names(hub.url, headers, trusting, columns),
                    [["work", "graphistry", "follower-a"]],
                )
            try:
                names(hub.url, None, trusting)
                findings.expect(False, "chain: the leader answers without a login")
            except urllib.error.HTTPError as error:
                findings.expect(error.code == 401, f"chain: without a login the leader answers {error.code}")


def main():
    deploy, kymo = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    findings = Findings("modes")
    text = {path.stem: path.read_text() for path in (deploy / "config").glob("*.yaml")}

    def check_to_hub(check, name):
        with servers.running(kymo, "--no-probe") as hub:
            check(findings, kymo, text[name], hub)

    for name, check in (
        ("packaged", lambda: check_packaged(findings, kymo, text["packaged"])),
        ("forwarding", lambda: check_to_hub(check_forwarding, "forwarding")),
        ("hybrid", lambda: check_to_hub(check_hybrid, "hybrid")),
        ("chain", lambda: check_chain(findings, kymo, text["follower"], text["leader"])),
    ):
        # A server that does not start is a fault of its mode, and no reason to leave out the others.
        try:
            check()
        except (OSError, RuntimeError, subprocess.SubprocessError) as error:
            findings.expect(False, f"{name}: {error}")
    findings.end()


main()
