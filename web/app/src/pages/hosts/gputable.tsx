/** GPUs of all hosts, a row each. */
import { href } from "../../frame/base";
import { navigate } from "../../frame/router";
import { bytes, count, percent } from "../../ui/format";
import { addressSorting } from "../../ui/sorting";
import { type Column, Table } from "../../ui/table";
import { type Gpu, gpuFaults, type Host, MIB, memoryPart } from "./fleet";
import { hostPath } from "./map";

interface Row {
  host: Host;
  gpu: Gpu;
}

function figure(id: string, title: string, text: (value: number) => string): Column<Row> {
  return {
    id,
    title,
    width: "110px",
    align: "right",
    value: ({ gpu }) => gpu.figures[id],
    render: ({ gpu }) => (gpu.figures[id] === undefined ? "–" : text(gpu.figures[id])),
  };
}

const COLUMNS: readonly Column<Row>[] = [
  {
    id: "host",
    title: "Host",
    width: "minmax(140px, 1fr)",
    value: ({ host }) => host.name,
    render: ({ host }) => <a href={href(hostPath(host.name))}>{host.name}</a>,
  },
  {
    id: "gpu",
    title: "GPU",
    width: "60px",
    align: "right",
    value: ({ gpu }) => Number(gpu.gpu),
    render: ({ gpu }) => gpu.gpu,
  },
  {
    id: "model",
    title: "Model",
    width: "minmax(140px, 1fr)",
    value: ({ gpu }) => gpu.model,
    render: ({ gpu }) => gpu.model,
  },
  figure("utilisation", "Utilisation", (value) => `${count(value)} %`),
  {
    id: "memory",
    title: "Memory",
    width: "150px",
    align: "right",
    value: ({ gpu }) => memoryPart(gpu),
    render: ({ gpu }) => {
      const part = memoryPart(gpu);
      return part === undefined ? "–" : `${bytes((gpu.figures.memory_used ?? 0) * MIB)} (${percent(part)})`;
    },
  },
  figure("power", "Power", (value) => `${count(Math.round(value))} W`),
  figure("temperature", "Temperature", (value) => `${count(value)} °C`),
  figure("clock", "Clock", (value) => `${count(value)}Hz`),
  {
    id: "faults",
    title: "Faults",
    width: "minmax(120px, 1fr)",
    value: ({ gpu }) => gpuFaults(gpu).length,
    render: ({ gpu }) => {
      const faults = gpuFaults(gpu);
      return faults.length > 0 ? <span class="badge badge-bad">! {faults.join(", ")}</span> : "";
    },
  },
];

export function GpuTable({ hosts }: { hosts: readonly Host[] }) {
  const rows = hosts.flatMap((host) => host.gpus.map((gpu) => ({ host, gpu })));
  return (
    <Table
      label="GPUs"
      columns={COLUMNS}
      rows={rows}
      rowKey={({ host, gpu }) => `${host.name} ${gpu.gpu} ${gpu.uuid}`}
      onOpen={({ host }) => navigate(hostPath(host.name))}
      {...addressSorting()}
    />
  );
}
