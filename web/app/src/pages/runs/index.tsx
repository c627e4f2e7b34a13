/** Trainings and other runs that are measured as they go: a table to choose from, and the chosen overlaid. */
import { useMemo } from "preact/hooks";
import { getJson } from "../../frame/api";
import { href } from "../../frame/base";
import { useLateParam } from "../../frame/lateparam";
import { link, navigate, param, paramAll, setParams } from "../../frame/router";
import { range } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { colorAt } from "../../ui/colors";
import { Check, SelectField } from "../../ui/field";
import { ago, count, duration, millisOf } from "../../ui/format";
import { Card, PageBody } from "../../ui/page";
import { Popover } from "../../ui/popover";
import { quote } from "../../ui/quote";
import { addressSorting } from "../../ui/sorting";
import { Answer, Empty, Warning } from "../../ui/states";
import { type Column, Table } from "../../ui/table";
import { TimeChart } from "../../ui/timechart";
import { measured } from "../hosts/fleet";
import { bounds, type Metric, type Moment, nearest, overlaid, peak } from "./overlay";
import "./runs.css";

interface Run {
  id: string;
  first: string;
  last: string;
  values: Record<string, number>;
  parameters: Record<string, unknown>;
}

interface Runs {
  runs: Run[];
  metrics: { name: string; unit: string; runs: number }[];
  truncated: boolean;
}

interface Compared {
  runs: { id: string; parameters: Record<string, unknown> }[];
  differing: string[];
  x: "step" | "time";
  metrics: Metric[];
  /** Of GPUs of the hosts that the runs were on. */
  gpus: Metric[];
  truncated: boolean;
}

const CHOSEN_AT_FIRST = 3;
const VALUES_AS_COLUMNS = 3;

/** Runs as the address names them: each by `id`, or by `ids`, as people write them. */
function chosenIds(runs: readonly Run[]): string[] {
  const each = paramAll("id");
  if (each.length > 0) return each;
  const named = param("ids");
  if (named !== undefined) return named === "" ? [] : named.split(",");
  return runs.slice(0, CHOSEN_AT_FIRST).map(({ id }) => id);
}

/** Opens the longest step of a run at a moment; where none is called so, the traces of that moment. */
async function openStep({ run, from, to }: Moment): Promise<void> {
  const [start, end] = [Math.floor(from), Math.ceil(to)];
  const found = await getJson<{ spans: { trace_id: string; span_id: string }[] }>("/api/runs/steps", {
    id: run,
    start,
    end,
  }).catch(() => undefined);
  const step = found?.spans[0];
  navigate(
    step
      ? link(`/trace/${step.trace_id}`, { span: step.span_id })
      : link("/traces", { q: `{ resource.session_id = ${quote(run)} }`, from: start, to: end }),
  );
}

export default function RunsPage() {
  const { from, to } = range.value;
  const asked = useAsk(
    (signal) => getJson<Runs>("/api/runs", { start: Math.round(from), end: Math.round(to) }, signal),
    [range.value],
  );
  return (
    <PageBody title="Training and other runs">
      <Answer of={asked}>
        {(data) =>
          data.runs.length === 0 ? (
            <Empty title="No session sent metrics in this time">
              <p>
                A run is whatever has a resource attribute <code>session_id</code>: with{" "}
                <code>kymograph.session()</code> in Python, <code>kymo run</code> before a command, or
                <code> OTEL_RESOURCE_ATTRIBUTES=session_id=…</code>
              </p>
            </Empty>
          ) : (
            <div class="stack">
              {data.truncated && (
                <Warning>Only the newest {data.runs.length} runs are shown: choose less time.</Warning>
              )}
              <RunTable data={data} chosen={chosenIds(data.runs)} />
              <Overlay ids={chosenIds(data.runs)} names={data.metrics.map(({ name }) => name)} />
            </div>
          )
        }
      </Answer>
    </PageBody>
  );
}

function RunTable({ data, chosen }: { data: Runs; chosen: readonly string[] }) {
  const toggle = (id: string, isOn: boolean) => {
    const ids = isOn ? [...chosen, id] : chosen.filter((one) => one !== id);
    // That none is chosen has to be said as well. A name with a comma cannot stand between commas.
    const isShort = ids.every((one) => !one.includes(","));
    setParams(isShort ? { ids: ids.join(","), id: undefined } : { id: ids, ids: undefined });
  };
  const names = data.metrics.slice(0, 40).filter(({ name }) => /loss|per_second|step$/.test(name));
  const columns: Column<Run>[] = [
    {
      id: "chosen",
      title: <span class="hidden">Chosen</span>,
      width: "40px",
      render: (run) => (
        <Check
          label={<span class="hidden">Overlay {run.id}</span>}
          checked={chosen.includes(run.id)}
          onChange={(isOn) => toggle(run.id, isOn)}
        />
      ),
    },
    {
      id: "id",
      title: "Run",
      width: "minmax(200px, 2fr)",
      value: ({ id }) => id,
      render: ({ id }) => (
        <>
          {chosen.includes(id) && <span class="swatch" style={{ background: colorAt(chosen.indexOf(id)) }} />}{" "}
          <a href={href(link(`/session/${encodeURIComponent(id)}`))}>{id}</a>
        </>
      ),
    },
    {
      id: "first",
      title: "Began",
      width: "130px",
      value: ({ first }) => millisOf(first),
      render: ({ first }) => ago(millisOf(first)),
    },
    {
      id: "length",
      title: "Length",
      width: "110px",
      align: "right",
      value: ({ first, last }) => millisOf(last) - millisOf(first),
      render: ({ first, last }) => duration((millisOf(last) - millisOf(first)) * 1e6),
    },
    ...names.slice(0, VALUES_AS_COLUMNS).map(
      ({ name }): Column<Run> => ({
        id: name,
        title: name,
        width: "150px",
        align: "right",
        value: ({ values }) => values[name],
        render: ({ values }) =>
          values[name] === undefined ? "–" : count(Number(values[name].toPrecision(5))),
      }),
    ),
  ];
  return (
    <Table
      label="Runs"
      columns={columns}
      rows={data.runs}
      rowKey={({ id }) => id}
      height={Math.min(260, 30 + data.runs.length * 28)}
      {...addressSorting()}
    />
  );
}

function Overlay({ ids, names }: { ids: readonly string[]; names: readonly string[] }) {
  const x = param("x") === "time" ? "time" : "step";
  const [entered, setSmoothing] = useLateParam("smoothing");
  const smoothing = Math.min(0.99, Math.max(0, Number(entered) || 0));
  const metrics = param("metrics") ?? "";
  const key = JSON.stringify(ids);
  const asked = useAsk(
    ids.length === 0
      ? undefined
      : (signal) => getJson<Compared>("/api/runs/compare", { id: ids, metrics, x }, signal),
    [key, metrics, x, range.value],
  );
  if (ids.length === 0) return <Empty title="Choose runs to overlay them" />;
  return (
    <Answer of={asked}>
      {(data) => {
        const shown = data.metrics.map(({ name }) => name);
        return (
          <div class="stack">
            <div class="row">
              <SelectField
                label="Over"
                value={x}
                options={[
                  ["step", "step"],
                  ["time", "time since the start"],
                ]}
                onChange={(value) => setParams({ x: value }, { replace: true })}
              />
              <label class="check">
                Smoothing
                <input
                  type="range"
                  min="0"
                  max="0.98"
                  step="0.02"
                  value={smoothing}
                  onInput={(event) => setSmoothing(event.currentTarget.value)}
                />
              </label>
              <Popover label="Metrics" button={`Metrics (${shown.length})`}>
                {() => (
                  <div class="stack">
                    {names.map((name) => (
                      <Check
                        key={name}
                        label={name}
                        checked={shown.includes(name)}
                        onChange={(isOn) =>
                          setParams({
                            metrics: (isOn ? [...shown, name] : shown.filter((one) => one !== name)).join(
                              ",",
                            ),
                          })
                        }
                      />
                    ))}
                  </div>
                )}
              </Popover>
              {x === "step" && data.x === "time" && (
                <span class="muted">These runs have no metric “step”: shown over time.</span>
              )}
              <span class="muted">A click on a chart opens the longest step of that moment.</span>
            </div>
            {data.truncated && <Warning>There are more values than are read: choose fewer runs.</Warning>}
            <div class="run-charts">
              {[...data.metrics, ...data.gpus].map((metric) => (
                <RunChart key={metric.name} metric={metric} ids={ids} smoothing={smoothing} x={data.x} />
              ))}
            </div>
            <Differences data={data} />
          </div>
        );
      }}
    </Answer>
  );
}

function RunChart({
  metric,
  ids,
  smoothing,
  x,
}: {
  metric: Metric;
  ids: readonly string[];
  smoothing: number;
  x: string;
}) {
  const drawn = useMemo(() => overlaid(metric, ids, smoothing), [metric, ids.join("\u0000"), smoothing]);
  const { places, lines } = drawn;
  const { min, max } = useMemo(() => bounds(lines), [lines]);
  const highest = useMemo(() => peak(metric), [metric]);
  const open = (event: MouseEvent) => {
    const box = (event.target as Element).closest?.(".u-over")?.getBoundingClientRect();
    if (!box || places.length === 0) return;
    const across = (event.clientX - box.left) / box.width;
    const down = (event.clientY - box.top) / box.height;
    const [first, last] = [places[0]!, places.at(-1)!];
    const moment = nearest(metric, drawn, first + across * (last - first), max - down * (max - min));
    if (moment) void openStep(moment);
  };
  return (
    <Card
      title={metric.name}
      actions={
        highest && (
          <Button kind="quiet" icon="traces" onClick={() => void openStep(highest)}>
            Step at the highest value
          </Button>
        )
      }
    >
      {/* By keyboard, the button above leads to the moment that is most looked for. */}
      <div class="run-chart" onClick={open}>
        <TimeChart
          label={`${metric.name} over ${x}`}
          axis="number"
          times={places}
          lines={lines}
          height={200}
          min={min}
          max={max}
          format={metric.unit ? measured(metric.unit) : undefined}
          sync={`runs-${x}`}
        />
      </div>
    </Card>
  );
}

function Differences({ data }: { data: Compared }) {
  if (data.differing.length === 0) return null;
  return (
    <Card title="Parameters that differ">
      <table class="plain-table">
        <thead>
          <tr>
            <th scope="col">Parameter</th>
            {data.runs.map(({ id }) => (
              <th scope="col" key={id}>
                {id}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {data.differing.map((name) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              {data.runs.map(({ id, parameters }) => (
                <td key={id} class="mono">
                  {parameters[name] === undefined ? "–" : String(parameters[name])}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}
