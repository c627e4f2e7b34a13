"""The compose files do what they promise: small rights, loopback only, files that are there, fixed versions.

That they are compose files at all is checked against the schema of the specification by scripts/deploy.
"""

import pathlib
import re
import sys

import yaml

from findings import Findings

# Needs to write beside its volume: plugins and a database.
WRITES_ANYWHERE = {"grafana"}
# What is added to docker-compose.yml.
ADDED = ("docker-compose.peers.yml", "docker-compose.postgres.yml")


def check_service(findings, name, service, folder):
    findings.expect(service.get("cap_drop") == ["ALL"], f"{name} keeps capabilities")
    findings.expect(
        "no-new-privileges:true" in service.get("security_opt", []), f"{name} may gain privileges"
    )
    findings.expect(service.get("read_only") or name in WRITES_ANYWHERE, f"{name} may write to its image")
    findings.expect("mem_limit" in service, f"{name} may take all memory")
    findings.expect(not service.get("privileged"), f"{name} is privileged")
    image = service.get("image", "")
    findings.expect(
        re.search(r":[^:/]*[0-9]|^\$\{TELEMETRY_IMAGE", image), f"{name} has no fixed version: {image}"
    )
    for port in service.get("ports", []):
        findings.expect(
            port.startswith(("${TELEMETRY_BIND:-127.0.0.1}:", "127.0.0.1:")),
            f"{name} publishes {port} on all addresses",
        )
    for volume in service.get("volumes", []):
        source, _, target = volume.partition(":")
        if source.startswith(".") and source != "./.env":
            findings.expect((folder / source).exists(), f"{name} mounts {source}, which is not there")
            findings.expect(target.endswith(":ro"), f"{name} may write to {source}")


def main():
    folder = pathlib.Path(sys.argv[1])
    findings = Findings("compose files")
    alone = yaml.safe_load((folder / "docker-compose.yml").read_text())
    for name, service in alone["services"].items():
        check_service(findings, name, service, folder)
    for path in ADDED:
        for name, service in yaml.safe_load((folder / path).read_text())["services"].items():
            # What is named in both files is one service, with the keys of both.
            check_service(findings, name, {**alone["services"].get(name, {}), **service}, folder)

    # Every variable that the files take is in the example, or has a default.
    example = (folder / ".env.example").read_text()
    named = set(re.findall(r"^([A-Z_]+)=", example, re.MULTILINE))
    for path in ("docker-compose.yml", *ADDED):
        for variable, rest in re.findall(r"\$\{([A-Z_]+)([^}]*)\}", (folder / path).read_text()):
            findings.expect(
                variable in named or rest.startswith((":-", "-")),
                f"{path} needs {variable}, which .env.example lacks",
            )
    for variable in (
        "ENABLE_OPEN_TELEMETRY",
        "OTEL_COMPOSE_FILE",
        "OTEL_COLLECTOR_OTLP_HTTP_ENDPOINT",
        "OTEL_COLLECTOR_OTLP_USERNAME",
        "OTEL_COLLECTOR_OTLP_PASSWORD",
        "GF_SERVER_ROOT_URL",
        "GF_SERVER_SERVE_FROM_SUB_PATH",
    ):
        findings.expect(variable in named, f".env.example lacks {variable}")

    # Variables that Caddy is given are those that the Caddyfile takes.
    caddyfile = (folder / "../caddy/Caddyfile").read_text()
    taken = set(re.findall(r"\{\$([A-Z_]+)[:}]", caddyfile))
    for variable in alone["services"]["caddy"]["environment"]:
        findings.expect(variable in taken, f"the Caddyfile does not take {variable}")
    findings.end()


main()
