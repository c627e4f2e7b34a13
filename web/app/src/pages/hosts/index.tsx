/** Hosts: a map by a chosen figure, and a table. */
import { getJson } from "../../frame/api";
import { href } from "../../frame/base";
import { navigate, pageLink, param, setParams } from "../../frame/router";
import { range } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { SelectField } from "../../ui/field";
import { bytes, count, percent } from "../../ui/format";
import { Card, Figure, PageBody } from "../../ui/page";
import { addressSorting } from "../../ui/sorting";
import { Answer, Empty, Warning } from "../../ui/states";
import { type Column, Table } from "../../ui/table";
import { Tabs } from "../../ui/tabs";
import { type Fleet, GPU_SHADES, HOST_SHADES, type Host, upFor } from "./fleet";
import { GpuMap, HostMap, hostPath } from "./map";
import "./hosts.css";
import { GpuTable } from "./gputable";

function columns(at: number): Column<Host>[] {
  const figure = (id: string, title: string, text: (value: number) => string): Column<Host> => ({
    id,
    title,
    width: "110px",
    align: "right",
    value: (host) => host.figures[id],
    render: (host) => (host.figures[id] === undefined ? "–" : text(host.figures[id])),
  });
  return [
    {
      id: "name",
      title: "Host",
      width: "minmax(160px, 2fr)",
      value: (host) => host.name,
      render: (host) => <a href={href(hostPath(host.name))}>{host.name}</a>,
    },
    figure("cpu", "CPU", percent),
    figure("memory", "Memory", percent),
    figure("memory_total", "of", bytes),
    figure("load", "Load", count),
    figure("cores", "Cores", count),
    figure("filesystem", "Disk full", percent),
    figure("disk", "Disk", (value) => `${bytes(value)}/s`),
    figure("network", "Network", (value) => `${bytes(value)}/s`),
    {
      id: "gpus",
      title: "GPUs",
      width: "70px",
      align: "right",
      value: (host) => host.gpus.length,
      render: (host) => (host.gpus.length > 0 ? host.gpus.length : "–"),
    },
    {
      id: "up",
      title: "Up",
      width: "100px",
      align: "right",
      value: (host) => host.figures.booted,
      render: (host) => upFor(host, at),
    },
  ];
}

export default function Hosts() {
  return <FleetPage of="hosts" />;
}

/** The fleet, as hosts or as GPUs. */
export function FleetPage({ of }: { of: "hosts" | "gpu" }) {
  const { from, to } = range.value;
  const asked = useAsk(
    (signal) => getJson<Fleet>("/api/fleet", { start: Math.round(from), end: Math.round(to) }, signal),
    [range.value],
  );
  const shades = of === "hosts" ? HOST_SHADES : GPU_SHADES;
  const chosen = shades.find(({ id }) => id === param("by")) ?? shades[0]!;
  return (
    <PageBody title={of === "hosts" ? "Hosts" : "GPUs"}>
      <Tabs
        label="What is shown"
        tabs={[
          { id: "/hosts", label: "Hosts" },
          { id: "/gpu", label: "GPUs" },
        ]}
        current={of === "hosts" ? "/hosts" : "/gpu"}
        onChange={(path) => navigate(pageLink(path))}
      />
      <Answer of={asked}>
        {(fleet) => {
          const gpus = fleet.hosts.flatMap((host) => host.gpus);
          if (fleet.hosts.length === 0) return <NoHosts />;
          if (of === "gpu" && gpus.length === 0) return <NoGpus />;
          const busy = gpus.filter(({ figures }) => (figures.utilisation ?? 0) > 10).length;
          return (
            <div class="stack">
              {fleet.truncated && <Warning>There are more hosts than are shown.</Warning>}
              <div class="figures">
                <Figure label="Hosts" value={fleet.hosts.length} />
                <Figure label="GPUs busy" value={gpus.length > 0 ? `${busy} of ${gpus.length}` : "–"} />
                <Figure label="Cores" value={count(sum(fleet.hosts, "cores"))} />
                <Figure label="Memory" value={bytes(sum(fleet.hosts, "memory_total"))} />
                {gpus.length > 0 && (
                  <Figure label="GPU power" value={`${count(Math.round(sum(gpus, "power")))} W`} />
                )}
              </div>
              <Card
                title="Fleet"
                actions={
                  <SelectField
                    label="Filled by"
                    value={chosen.id}
                    options={shades.map(({ id, label }) => [id, label] as const)}
                    onChange={(by) => setParams({ by }, { replace: true })}
                  />
                }
              >
                {of === "hosts" ? (
                  <HostMap hosts={fleet.hosts} shade={HOST_SHADES.find(({ id }) => id === chosen.id)!} />
                ) : (
                  <GpuMap
                    hosts={fleet.hosts.filter((host) => host.gpus.length > 0)}
                    shade={GPU_SHADES.find(({ id }) => id === chosen.id)!}
                  />
                )}
              </Card>
              {of === "hosts" ? (
                <Table
                  label="Hosts"
                  columns={columns(fleet.at)}
                  rows={fleet.hosts}
                  rowKey={(host) => host.name}
                  onOpen={(host) => navigate(hostPath(host.name))}
                  {...addressSorting()}
                />
              ) : (
                <GpuTable hosts={fleet.hosts} />
              )}
            </div>
          );
        }}
      </Answer>
    </PageBody>
  );
}

function sum(list: readonly { figures: Record<string, number> }[], name: string): number {
  return list.reduce((total, { figures }) => total + (figures[name] ?? 0), 0);
}

function NoHosts() {
  return (
    <Empty title="No host was heard of in this time">
      <p>
        This server looks at its own machine unless <code>probe.enabled</code> is false. Others come by
        scraping node-exporter, or from another <code>kymo serve</code> that forwards to this one.
      </p>
    </Empty>
  );
}

function NoGpus() {
  return (
    <Empty title="No GPU was heard of in this time">
      <p>
        GPUs of this machine are found through NVIDIA's driver. Others come by scraping dcgm-exporter: its
        addresses stand in <code>scrape_configs</code> of a file that <code>prometheus.config</code> names, as
        in <code>kymo serve --prometheus-config targets.yml</code>.
      </p>
    </Empty>
  );
}
