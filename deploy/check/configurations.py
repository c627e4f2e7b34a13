"""Every configuration of deploy/ is one that `kymo serve` takes: the examples, and those in rendered charts.

    configurations.py DEPLOY KYMO RENDERED

Certificates that they name are made for the time of the check, and variables have values of the right kind.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

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
    for name in ("admin", "hub-token"):
        pathlib.Path(folder, name).write_text("a long enough secret\n")


def main():
    deploy, kymo, rendered = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], pathlib.Path(sys.argv[3])
    findings = Findings("configurations")
    examples = [
        *sorted((deploy / "config").glob("*.yaml")),
        deploy / "compose/kymo.yaml",
        deploy / "compose/peers.yaml",
    ]
    with tempfile.TemporaryDirectory() as folder:
        make_files(folder)
        inherited = {
            key: value for key, value in os.environ.items() if not key.startswith(("KYMO_", "OTEL_"))
        }
        for path in [*examples, *sorted(rendered.glob("*.config"))]:
            text = path.read_text()
            for place in ("/etc/kymo/certs", "/etc/kymo/tls", "/etc/kymo/secrets"):
                text = text.replace(place, folder)
            copy = pathlib.Path(folder, path.name)
            copy.write_text(text.replace("/var/lib/kymo", f"{folder}/data"))
            # The charts listen on all addresses, and so may whoever takes these files.
            told = subprocess.run(
                [kymo, "config", "check", "--config", str(copy)],
                capture_output=True,
                text=True,
                check=False,
                env={**inherited, **VARIABLES, "KYMO_INSECURE_LISTEN": "true"},
            )
            findings.expect(told.returncode == 0, f"{path.name}: {(told.stderr or told.stdout).strip()}")
    findings.end()


main()
