"""The Helm chart renders for each file of ci/, to objects that Kubernetes knows, and refuses what is unsafe.

    chart.py CHART HELM OUT

Rendered objects are written to OUT, one file for each values file, and beside it the configuration in them and
the variables of the container, for whoever checks those further.
"""

import json
import pathlib
import re
import subprocess
import sys

import yaml

from findings import Findings

# Arguments, and what the refusal says. The last ones take the example with TLS and spoil it.
MUTUAL_TLS = ["--values", "ci/mutual-tls-values.yaml"]
REFUSED = [
    ([], "config needs tls"),
    (["--set", "config.auth={bearer}"], "config needs tls"),
    (["--set", "config.tls.certificate=a,config.tls.key=b"], "config needs tls"),
    (["--set", "insecureListen=true", "--set", "replicas=2"], "several replicas need a bucket"),
    (["--set", "insecureListen=true", "--set", "replica=2"], "replica"),
    (["--set", "insecureListen=true", "--set", "config.http=0.0.0.0:1"], "config"),
    (["--set", "insecureListen=true", "--set", "config.expose.metrics=0.0.0.0:1"], "config"),
    (["--set", "insecureListen=true", "--set", "config.postgres=0.0.0.0:1"], "config"),
    (["--set", "insecureListen=true", "--set", "config.store.enabled=false", "--set", "postgres=true"], "what is kept"),
    (["--set", "insecureListen=true", "--set", "ingress.enabled=true"], "hosts"),
    ([*MUTUAL_TLS, "--set-json", "config.listeners.otlp_http.auth=[]"], "for otlp_http"),
    ([*MUTUAL_TLS, "--set", "config.listeners.expose_metrics.auth=open"], "for expose_metrics"),
    ([*MUTUAL_TLS, "--set", "config.listeners.postgres.auth=open"], "for postgres"),
    ([*MUTUAL_TLS, "--set", "config.tls.client_certificates=required"], "show no certificate"),
    ([*MUTUAL_TLS, "--set", "config.tls.client_certificates=null"], "show no certificate"),
]


TIMEOUT_SECS = 60


def helm(program, *arguments, folder=None):
    return subprocess.run(
        [program, *arguments], capture_output=True, text=True, check=False, cwd=folder, timeout=TIMEOUT_SECS
    )


def check_rendered(findings, name, objects):
    """What holds of every rendering, whatever the values."""
    kinds = [item["kind"] for item in objects]
    for kind in ("StatefulSet", "Service", "ConfigMap"):
        findings.expect(kind in kinds, f"{name}: no {kind}")
    sets = [item for item in objects if item["kind"] == "StatefulSet"]
    for item in sets:
        pod = item["spec"]["template"]["spec"]
        container = pod["containers"][0]
        labels = item["spec"]["template"]["metadata"]["labels"]
        selected = item["spec"]["selector"]["matchLabels"].items()
        findings.expect(selected <= labels.items(), f"{name}: the set does not select its own pods")
        findings.expect(pod["securityContext"]["runAsNonRoot"], f"{name}: pods run as root")
        findings.expect(
            pod["automountServiceAccountToken"] is False, f"{name}: pods have a token of Kubernetes"
        )
        rights = container["securityContext"]
        findings.expect(
            rights["readOnlyRootFilesystem"] and rights["capabilities"] == {"drop": ["ALL"]},
            f"{name}: pods have more rights than they need",
        )
        volumes = {volume["name"] for volume in pod["volumes"]}
        volumes |= {claim["metadata"]["name"] for claim in item["spec"].get("volumeClaimTemplates", [])}
        for mount in container["volumeMounts"]:
            findings.expect(mount["name"] in volumes, f"{name}: nothing is mounted at {mount['mountPath']}")
        ports = {port["name"] for port in container["ports"]}
        check_probes(findings, name, container, objects)
        check_reachable(findings, name, ports, objects)
        for service in (item for item in objects if item["kind"] == "Service"):
            for port in service["spec"]["ports"]:
                findings.expect(port["targetPort"] in ports, f"{name}: no port {port['targetPort']}")


def check_probes(findings, name, container, objects):
    """Probes ask the way the main port is configured: with its TLS and below its prefix."""
    config = yaml.safe_load(
        next(item for item in objects if item["kind"] == "ConfigMap")["data"]["kymo.yaml"]
    )
    scheme = "HTTPS" if config.get("tls") else "HTTP"
    for kind, path in (("startupProbe", "/ready"), ("readinessProbe", "/ready"), ("livenessProbe", "/healthz")):
        wanted = {"path": config.get("base_path", "") + path, "port": "http", "scheme": scheme}
        asked = container[kind]["httpGet"]
        findings.expect(asked == wanted, f"{name}: the {kind} asks {asked}, not {wanted}")


def check_reachable(findings, name, ports, objects):
    """What the pods listen on is what the service has and the policy lets through."""
    service = next(
        item
        for item in objects
        if item["kind"] == "Service" and item["metadata"]["labels"]["app.kubernetes.io/component"] == "server"
    )
    offered = {port["targetPort"] for port in service["spec"]["ports"]}
    findings.expect(offered == ports, f"{name}: pods listen on {ports}, the service has {offered}")
    for policy in (item for item in objects if item["kind"] == "NetworkPolicy"):
        let = {port["port"] for rule in policy["spec"]["ingress"] for port in rule["ports"]}
        findings.expect(let == ports, f"{name}: pods listen on {ports}, the policy lets through {let}")


def check_values_are_used(findings, chart):
    """No value that nothing reads, no template that reads what is no value."""
    templates = "".join(path.read_text() for path in (chart / "templates").iterdir())
    values = yaml.safe_load((chart / "values.yaml").read_text())
    read = set(re.findall(r"\.Values\.([A-Za-z]+)", templates))
    for name in values:
        findings.expect(name in read, f"values.yaml: nothing reads {name}")
    for name in read:
        findings.expect(name in values, f"templates read {name}, which values.yaml lacks")


def main():
    chart, program, out = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    findings = Findings("chart")
    check_values_are_used(findings, chart)
    for path in sorted((chart / "ci").glob("*-values.yaml")):
        name = path.stem
        linted = helm(program, "lint", "--strict", str(chart), "--values", str(path))
        findings.expect(linted.returncode == 0, f"{name}: {linted.stdout}{linted.stderr}")
        rendered = helm(
            program, "template", "release", str(chart), "--namespace", "telemetry", "--values", str(path)
        )
        if not findings.expect(rendered.returncode == 0, f"{name}: {rendered.stderr.strip()}"):
            continue
        objects = [item for item in yaml.safe_load_all(rendered.stdout) if item]
        check_rendered(findings, name, objects)
        (out / f"{name}.yaml").write_text(rendered.stdout)
        for item in objects:
            if item["kind"] == "ConfigMap":
                (out / f"{name}.config").write_text(item["data"]["kymo.yaml"])
            if item["kind"] == "StatefulSet":
                variables = item["spec"]["template"]["spec"]["containers"][0]["env"]
                (out / f"{name}.environment").write_text(
                    json.dumps({each["name"]: each.get("value", "release-kymo-0") for each in variables})
                )
    for arguments, reason in REFUSED:
        rendered = helm(program, "template", "release", ".", *arguments, folder=chart)
        findings.expect(
            rendered.returncode != 0 and reason in rendered.stderr,
            f"{arguments} is not refused for {reason!r}: {rendered.stderr.strip()[:200]}",
        )
    findings.end()


main()
