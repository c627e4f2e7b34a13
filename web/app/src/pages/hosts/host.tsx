/** One host over time, with its GPUs: charts on one cursor, what ran there, and ways to traces and logs of it. */
import { useMemo } from "preact/hooks";
import { getJson } from "../../frame/api";
import { href } from "../../frame/base";
import { link } from "../../frame/router";
import { range, rangeText, setRange } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { colorAt } from "../../ui/colors";
import { Icon } from "../../ui/icon";
import { Card, PageBody } from "../../ui/page";
import { quote } from "../../ui/quote";
import { Answer, Empty } from "../../ui/states";
import { type Mark, TimeChart } from "../../ui/timechart";
import type { PageProps } from "..";
import { errorMoments, type History, type Measure, measured, throttleReasons } from "./fleet";
import "./hosts.css";
import { RanHere } from "./ranhere";

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
  ecc_uncorrected: "ECC errors, not corrected",
  ecc_corrected: "ECC errors, corrected",
  throttling: "Reasons for throttling",
};

export default function HostPage({ params }: PageProps) {
  const name = params.name!;
  const { from, to } = range.value;
  const asked = useAsk(
    (signal) =>
      getJson<History>("/api/fleet/host", { name, start: Math.round(from), end: Math.round(to) }, signal),
    [name, range.value],
  );
  const time = { from: rangeText.value.from, to: rangeText.value.to };
  const spans = `{ resource.host.name = ${quote(name)} }`;
  // The name of a host is a field of lines, and no label of their streams.
  const lines = `{service_name=~".+"} | host_name=${quote(name)}`;
  return (
    <PageBody
      title={name}
      actions={
        <>
          <a class="button" href={href(link("/traces", { q: spans, ...time }))}>
            <Icon name="traces" /> Traces
          </a>
          <a class="button" href={href(link("/explore/logs", { q: lines, ...time }))}>
            <Icon name="logs" /> Logs
          </a>
        </>
      }
    >
      <div class="stack">
        <RanHere query={spans} />
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
      </div>
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
          <Chart key={measure.name} measure={measure} history={history} />
        ))}
      </div>
    </section>
  );
}

/** Errors of a GPU as marks on its own line. */
function errorMarks(history: History, measure: Measure): Mark[] {
  if (measure.of !== "gpu") return [];
  return errorMoments(history.times, history.measures).flatMap(({ time, at, gpu, xid }) => {
    const line = measure.series.find(({ label }) => label === gpu);
    return line ? [{ time, value: line.values[at] ?? 0, label: `${gpu}: XID ${xid}` }] : [];
  });
}

/** What is drawn of a measure: bits are no amount, how many of them are set is one. */
function drawn(measure: Measure): Measure {
  if (measure.name !== "throttling") return measure;
  const reasons = (value: number | null) => (value === null ? null : throttleReasons(value).length);
  const series = measure.series.map(({ label, values }) => ({ label, values: values.map(reasons) }));
  return { ...measure, series };
}

function Chart({ measure: asked, history }: { measure: Measure; history: History }) {
  const measure = useMemo(() => drawn(asked), [asked]);
  const marks = useMemo(() => errorMarks(history, measure), [history, measure]);
  const host = history.name;
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
        times={history.times}
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
        marks={marks}
        onZoom={setRange}
        sync={`host-${host}`}
      />
    </Card>
  );
}
