"""Every query of the dashboards is understood by a real server, and asks for metrics that there are.

    dashboards.py DEPLOY KYMO

The server scrapes itself as deploy/config/targets.yml says, so that names of its own metrics are in its store.
Metrics of GPUs are looked up in the probe's source, since few machines that run this have one.
"""

import json
import pathlib
import re
import sys
import tempfile

import yaml

import server as servers
from findings import Findings

VARIABLE = re.compile(r"\$\{(\w+)(?::\w+)?\}|\$(\w+)")
METRIC = re.compile(r"\b((?:kymo|node|DCGM)_\w+)")
BUILT_IN = {"__rate_interval": "5m", "__interval": "1m", "__range": "1h"}


def filled(text):
    """The query as Grafana would send it with everything chosen."""
    return VARIABLE.sub(lambda found: BUILT_IN.get(found[1] or found[2], ".*"), text)


def targets(panels):
    """Panels with their targets, those inside rows too."""
    for panel in panels:
        yield from ((panel, target) for target in panel.get("targets", []))
        yield from targets(panel.get("panels", []))


def check_query(findings, place, target, url, known):
    kind = target["datasource"]["type"]
    if kind == "prometheus":
        query = filled(target["expr"])
        status, text = servers.ask(f"{url}/prometheus/api/v1/query", {"query": query})
        for name in METRIC.findall(query):
            findings.expect(name in known, f"{place}: there is no metric {name}")
    else:
        query = filled(target["query"])
        is_metrics = re.search(r"(rate|_over_time)\(", query)
        path = "metrics/query_range" if is_metrics else "search"
        status, text = servers.ask(f"{url}/tempo/api/{path}", {"q": query})
    findings.expect(status == 200, f"{place}: {query}: {status} {text[:300]}")


def check_board(findings, path, url, known):
    board = json.loads(path.read_text())
    variables = {variable["name"] for variable in board["templating"]["list"]}
    findings.expect(board["uid"] == path.stem, f"{path.name}: the uid is {board['uid']}")
    ids = [panel["id"] for panel in board["panels"]]
    findings.expect(len(ids) == len(set(ids)), f"{path.name}: two panels have one id")
    for panel, target in targets(board["panels"]):
        place = f"{path.name}, {panel['title']!r}"
        for used in re.findall(r"\$\{?(\w+)", json.dumps(target)):
            findings.expect(used in variables or used in BUILT_IN, f"{place}: ${used} is no variable")
        check_query(findings, place, target, url, known)
    for variable in board["templating"]["list"]:
        if variable["type"] == "query" and variable["datasource"]["type"] == "prometheus":
            found = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["query"]["query"])
            findings.expect(found and found[1] in known, f"{path.name}: values of {variable['name']}")
    return board["uid"]


def known_metrics(tree, url):
    """Names in the server's store, of its own metrics also those that have not been counted yet."""
    _, text = servers.ask(f"{url}/prometheus/api/v1/label/__name__/values")
    known = set(json.loads(text)["data"])
    _, text = servers.ask(f"{url}/metrics")
    for name, kind in re.findall(r"^# TYPE (\w+) (\w+)", text, re.MULTILINE):
        known |= (
            {name, f"{name}_total"}
            if kind == "counter"
            else {name, f"{name}_bucket", f"{name}_count", f"{name}_sum"}
        )
    for path in (tree / "crates/probe/src").rglob("*.rs"):
        known |= set(re.findall(r'"((?:DCGM|kymo_gpu|node)_\w+)"', path.read_text()))
    # Counted when it first happens, and documented.
    known |= set(
        re.findall(r"`(kymo_(?:refused|changed|duplicate)\w+_total)`", (tree / "docs/http.md").read_text())
    )
    return known


def check_data_sources(findings, deploy, uids):
    """Panels and links name data sources that are provisioned."""
    sources = yaml.safe_load((deploy / "grafana/provisioning/datasources/kymo.yaml").read_text())[
        "datasources"
    ]
    named = {source["uid"] for source in sources}
    for uid in re.findall(
        r"datasourceUid: ([\w-]+)", (deploy / "grafana/provisioning/datasources/kymo.yaml").read_text()
    ):
        findings.expect(uid in named, f"a link leads to the data source {uid}, which is not there")
    for path in (deploy / "grafana/dashboards").glob("*.json"):
        for variable in json.loads(path.read_text())["templating"]["list"]:
            if variable["type"] == "datasource":
                findings.expect(variable["current"]["value"] in named, f"{path.name}: {variable['current']}")
    findings.expect(len(uids) == len(set(uids)), "two dashboards have one uid")


def main():
    deploy, program = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    findings = Findings("dashboards, data sources, scrape configurations")
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder, "targets.yml")
        text = (deploy / "config/targets.yml").read_text()

        def prepare(port):
            config.write_text(text.replace("127.0.0.1:3200", f"127.0.0.1:{port}").replace("15s", "1s"))

        # With a destination, so that there is something to tell of forwarding.
        settings = pathlib.Path(folder, "kymo.yaml")
        settings.write_text(f"destinations: [{{name: file, protocol: file, path: {folder}/out.jsonl}}]\n")
        arguments = [
            "--config",
            str(settings),
            "--prometheus-config",
            str(config),
            "--probe-interval",
            "1s",
        ]
        with servers.running(program, *arguments, prepare=prepare) as server:
            for name in ("kymo_connections_total", "node_cpu_seconds_total"):
                told = f"{server.url}/prometheus/api/v1/query?query={name}"
                servers.wait_until(f"the metric {name}", lambda: '"value"' in servers.ask(told)[1])
            known = known_metrics(deploy.parent, server.url)
            uids = [
                check_board(findings, path, server.url, known)
                for path in sorted((deploy / "grafana/dashboards").glob("*.json"))
            ]
            check_data_sources(findings, deploy, uids)
            # The configuration of the real Prometheus is read by the same rules.
            config.write_text((deploy / "compose/prometheus/prometheus.yml").read_text())
            status, told = servers.ask(f"{server.url}/prometheus/-/reload", {})
            findings.expect(status == 200, f"compose/prometheus/prometheus.yml: {status} {told[:300]}")
    findings.end()


main()
