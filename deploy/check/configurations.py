"""Every configuration of deploy/ is one that `kymo serve` takes, with the variables it gets where it runs.

    configurations.py DEPLOY KYMO RENDERED

The examples are checked as they are; those of the compose files and of rendered charts with the variables of
their containers, so that what listens without TLS or a login is found. Certificates that they name are made for
the time of the check, and variables have values of the right kind. Every variable KYMO_… that a file of deploy/
sets or proposes is one that is documented.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

import yaml

import server as servers
from findings import Findings

# What the examples say they need, and what the chart's examples name.
VARIABLES = {
    "OTEL_COLLECTOR_OTLP_HTTP_ENDPOINT": "https://cloud.example",
    "OTEL_COLLECTOR_OTLP_USERNAME": "user",
    "OTEL_COLLECTOR_OTLP_PASSWORD": "password",
    "HUB_TOKEN": "token",
    "ADMIN_PASSWORD": "a long enough password",
    "LEADER_OTEL_EXPORTER_OTLP_ENDPOINT": "https://leader.example:4317",
    "GRAPHISTRY_INSTANCE_NAME": "follower-a",
    "HUB_ENDPOINT": "https://hub.example",
}
CERTIFICATES = ["ca", "server", "client-follower-a", "tls"]
# Variables of other programs than kymo serve: of commands, of Caddy (the Caddyfile says which), of Grafana.
OF_COMMANDS = {"KYMO_URL", "KYMO_CA", "KYMO_TOKEN", "KYMO_TENANT", "KYMO_LOG", "KYMO_PASSWORD"}
TIMEOUT_SECS = 60


def make_files(folder):
    """Certificates and secrets under all names that the configurations have for them."""
    for name in CERTIFICATES:
        subprocess.run(
            [
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
                "-nodes",
                "-days",
                "2",
                "-subj",
                f"/CN={name}",
                "-addext",
                "basicConstraints=critical,CA:TRUE",
                "-keyout",
                f"{folder}/{name}.key",
                "-out",
                f"{folder}/{name}.pem",
            ],
            check=True,
            capture_output=True,
        )
        pathlib.Path(folder, f"{name}.crt").write_bytes(pathlib.Path(folder, f"{name}.pem").read_bytes())
    # A list of revoked certificates, of which there are none.
    pathlib.Path(folder, "index").touch()
    pathlib.Path(folder, "authority.cnf").write_text(
        f"[ca]\ndefault_ca=own\n[own]\ndatabase={folder}/index\ndefault_md=sha256\ndefault_crl_days=2\n"
    )
    subprocess.run(
        [
            "openssl",
            "ca",
            "-gencrl",
            "-config",
            f"{folder}/authority.cnf",
            "-cert",
            f"{folder}/ca.pem",
            "-keyfile",
            f"{folder}/ca.key",
            "-out",
            f"{folder}/crl.pem",
        ],
        check=True,
        capture_output=True,
    )
    for name in ("admin", "monitor", "hub-token"):
        pathlib.Path(folder, name).write_text("a long enough secret\n")


def filled(text, values):
    """A value of a compose file with its variables, as compose fills them in."""

    def value(found):
        name, default = found[1], found[3]
        # ":-" has the default for an empty variable too, "-" for one that is not there.
        missing = not values.get(name) if found[2] == ":-" else name not in values
        return default if missing else values[name]

    return re.sub(r"\$\{([A-Z_]+)(:?-)([^}]*)\}", value, text)


def of_image(deploy):
    """Variables that the image sets."""
    text = (deploy / "docker/Dockerfile").read_text()
    return dict(re.findall(r"\b(KYMO_[A-Z_]+)=(\S+)", text))


def of_compose(deploy, env_file, *added):
    """Variables of the server's container, with a file .env and files that are added to the first."""
    values = dict(re.findall(r"^([A-Z_]+)=(.*)$", env_file, re.MULTILINE))
    environment = {}
    for name in ("docker-compose.yml", *added):
        compose = yaml.safe_load((deploy / "compose" / name).read_text())
        environment |= compose["services"]["kymo"]["environment"]
    return of_image(deploy) | {name: filled(text, values) for name, text in environment.items()}


def cases(deploy, rendered):
    """Configurations, each with a name, its text, the variables, and a file of variables if there is one."""
    for path in sorted((deploy / "config").glob("*.yaml")):
        yield path.name, path.read_text(), VARIABLES, None
    packaged = (deploy / "compose/.env.example").read_text()
    cloud = packaged
    for name, value in (
        ("OTEL_COMPOSE_FILE", "telemetry.cloud.yml"),
        ("OTEL_COLLECTOR_OTLP_HTTP_ENDPOINT", "https://cloud.example"),
        ("KYMO_EXPOSE_METRICS", ""),
    ):
        cloud = re.sub(rf"^{name}=.*$", f"{name}={value}", cloud, flags=re.MULTILINE)
    for name, env_file in (("telemetry.yml", packaged), ("telemetry.cloud.yml", cloud)):
        for config in ("kymo.yaml", "peers.yaml"):
            if (name, config) != ("telemetry.cloud.yml", "peers.yaml"):
                text = (deploy / "compose" / config).read_text()
                yield f"compose/{config} with {name}", text, of_compose(deploy, env_file), env_file
    with_postgres = of_compose(deploy, packaged, "docker-compose.postgres.yml")
    text = (deploy / "compose/kymo.yaml").read_text()
    yield "compose/kymo.yaml with PostgreSQL's protocol", text, with_postgres, packaged
    for path in sorted(rendered.glob("*.config")):
        environment = json.loads(path.with_suffix(".environment").read_text())
        yield f"chart, {path.stem}", path.read_text(), of_image(deploy) | environment, None


def check_names(findings, deploy):
    """Variables that are set or proposed anywhere are known to whom they are for."""
    known = set(re.findall(r"`(KYMO_[A-Z_]+)`", (deploy.parent / "docs/configuration.md").read_text()))
    findings.expect(len(known) > 50, "docs/configuration.md names no variables")
    of_caddy = set(re.findall(r"\{\$(KYMO_[A-Z_]+)", (deploy / "caddy/Caddyfile").read_text()))
    for folder in ("compose", "docker", "grafana", "helm", "systemd"):
        for path in sorted(path for path in (deploy / folder).rglob("*") if path.is_file()):
            for name in sorted(set(re.findall(r"\bKYMO_[A-Z_]*[A-Z]\b", path.read_text()))):
                is_known = name in known | OF_COMMANDS | of_caddy
                findings.expect(is_known, f"{path.relative_to(deploy)}: nobody knows {name}")


def main():
    deploy, kymo, rendered = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], pathlib.Path(sys.argv[3])
    findings = Findings("configurations")
    check_names(findings, deploy)
    with tempfile.TemporaryDirectory() as folder:
        make_files(folder)

        def moved(text):
            for place in ("/etc/kymo/certs", "/etc/kymo/tls", "/etc/kymo/secrets"):
                text = text.replace(place, folder)
            return text.replace("/var/lib/kymo", f"{folder}/data")

        for name, text, environment, env_file in cases(deploy, rendered):
            config = pathlib.Path(folder, "kymo.yaml")
            config.write_text(moved(text))
            arguments = [kymo, "config", "check", "--config", str(config)]
            if env_file is not None:
                pathlib.Path(folder, "telemetry.env").write_text(env_file)
                arguments += ["--env-file", f"{folder}/telemetry.env"]
            told = subprocess.run(
                arguments,
                capture_output=True,
                text=True,
                check=False,
                env=servers.clean_environment() | {key: moved(value) for key, value in environment.items()},
                timeout=TIMEOUT_SECS,
            )
            output = f"{told.stderr}{told.stdout}".strip()
            findings.expect(told.returncode == 0, f"{name}: {output}")
            findings.expect("is not known" not in output, f"{name}: {output}")
    findings.end()


main()
