/** One host over time, with its GPUs: charts on one cursor, and ways to traces and logs of it. */
import { getJson } from "../../frame/api";
import { href } from "../../frame/base";
import { link } from "../../frame/router";
import { range, rangeText, setRange } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { colorAt } from "../../ui/colors";
import { Icon } from "../../ui/icon";
import { Card, PageBody } from "../../ui/page";
import { Answer, Empty } from "../../ui/states";
import { TimeChart } from "../../ui/timechart";
import type { PageProps } from "..";
import { type History, type Measure, measured } from "./fleet";
import "./hosts.css";

const TITLES: Record<string, string> = {
  cpu: "CPU",
  memory: "Memory",
  load: "Load",
  filesystem: "Fullest file system",
  disk: "Disk",
  network: "Network",
  utilisation: "Utilisation",
  memory_used: "Memory used",
  memory_free: "Memory free",
  power: "Power",
  temperature: "Temperature",
  clock: "Clock",
  tensor: "Tensor cores",
  xid: "XID errors",
};

export default function HostPage({ params }: PageProps) {
  const name = params.name!;
  const { from, to } = range.value;
  const asked = useAsk(
    (signal) =>
      getJson<History>("/api/fleet/host", { name, start: Math.round(from), end: Math.round(to) }, signal),
    [name, from, to],
  );
  const time = { from: rangeText.value.from, to: rangeText.value.to };
  const quoted = JSON.stringify(name);
  return (
    <PageBody
      title={name}
      actions={
        <>
          <a
            class="button"
            href={href(link("/traces", { q: `{ resource.host.name = ${quoted} }`, ...time }))}
          >
            <Icon name="traces" /> Traces
          </a>
          <a class="button" href={href(link("/explore/logs", { q: `{host_name=${quoted}}`, ...time }))}>
            <Icon name="logs" /> Logs
          </a>
        </>
      }
    >
      <Answer of={asked}>
        {(history) =>
          history.measures.length === 0 ? (
            <Empty title={`Nothing was heard of ${name} in this time`} />
          ) : (
            <div class="stack">
              <Charts history={history} of="host" title="Host" />
              <Charts history={history} of="gpu" title="GPUs" />
            </div>
          )
        }
      </Answer>
    </PageBody>
  );
}

function Charts({ history, of, title }: { history: History; of: "host" | "gpu"; title: string }) {
  const measures = history.measures.filter((measure) => measure.of === of);
  if (measures.length === 0) return null;
  return (
    <section class="stack">
      <h2>{title}</h2>
      <div class="host-charts">
        {measures.map((measure) => (
          <Chart key={measure.name} measure={measure} times={history.times} host={history.name} />
        ))}
      </div>
    </section>
  );
}

function Chart({ measure, times, host }: { measure: Measure; times: readonly number[]; host: string }) {
  const title = TITLES[measure.name] ?? measure.name;
  return (
    <Card
      title={title}
      actions={
        <a href={href(link("/explore/metrics", { q: measure.query, ...rangeText.value }))} title="Explore">
          <Icon name="metrics" />
          <span class="hidden">Explore {title}</span>
        </a>
      }
    >
      <TimeChart
        label={`${title} of ${host}`}
        times={times}
        lines={measure.series.map((line, at) => ({
          label: line.label,
          values: line.values,
          color: colorAt(at),
          fill: measure.series.length === 1 ? 0.12 : 0,
        }))}
        height={150}
        range={range.value}
        min={0}
        max={measure.unit === "percentunit" ? 1 : measure.unit === "percent" ? 100 : undefined}
        format={measured(measure.unit)}
        onZoom={setRange}
        sync={`host-${host}`}
      />
    </Card>
  );
}
