/** Trainings and other runs that are measured as they go: a table to choose from, and the chosen overlaid. */
import { useMemo } from "preact/hooks";
import { getJson } from "../../frame/api";
import { href } from "../../frame/base";
import { param, setParams } from "../../frame/router";
import { range } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { colorAt } from "../../ui/colors";
import { Check, SelectField } from "../../ui/field";
import { ago, count, duration, millisOf } from "../../ui/format";
import { Card, PageBody } from "../../ui/page";
import { Popover } from "../../ui/popover";
import { Answer, Empty, Warning } from "../../ui/states";
import { type Column, Table } from "../../ui/table";
import { TimeChart } from "../../ui/timechart";
import { type Metric, overlaid } from "./overlay";
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
  truncated: boolean;
}

const CHOSEN_AT_FIRST = 3;
const VALUES_AS_COLUMNS = 3;

function chosenIds(runs: readonly Run[]): string[] {
  const named = param("ids");
  if (named !== undefined) return named === "" ? [] : named.split(",");
  return runs.slice(0, CHOSEN_AT_FIRST).map(({ id }) => id);
}

export default function RunsPage() {
  const { from, to } = range.value;
  const asked = useAsk(
    (signal) => getJson<Runs>("/api/runs", { start: Math.round(from), end: Math.round(to) }, signal),
    [from, to],
  );
  return (
    <PageBody title="Training and other runs">
      <Answer of={asked}>
        {(data) =>
          data.runs.length === 0 ? (
            <Empty title="No session sent metrics in this time">
              <p>
                A run is whatever has a resource attribute <code>session_id</code>: with{" "}
                <code>kymograph.start_session()</code> in Python, <code>kymo run</code> before a command, or
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
    setParams({ ids: ids.join(",") });
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
          <a href={href(`/session/${encodeURIComponent(id)}`)}>{id}</a>
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
    />
  );
}

function Overlay({ ids, names }: { ids: readonly string[]; names: readonly string[] }) {
  const x = param("x") === "time" ? "time" : "step";
  const smoothing = Math.min(0.99, Math.max(0, Number(param("smoothing") ?? 0)));
  const metrics = param("metrics") ?? "";
  const key = ids.join(",");
  const { to } = range.value;
  const asked = useAsk(
    ids.length === 0
      ? undefined
      : (signal) => getJson<Compared>("/api/runs/compare", { ids: key, metrics, x }, signal),
    [key, metrics, x, to],
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
                  onInput={(event) => setParams({ smoothing: event.currentTarget.value }, { replace: true })}
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
            </div>
            {data.truncated && <Warning>There are more values than are read: choose fewer runs.</Warning>}
            <div class="run-charts">
              {data.metrics.map((metric) => (
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
  const { places, lines } = useMemo(
    () => overlaid(metric, ids, smoothing),
    [metric, ids.join(","), smoothing],
  );
  return (
    <Card title={metric.name}>
      <TimeChart
        label={`${metric.name} over ${x}`}
        axis="number"
        times={places}
        lines={lines}
        height={200}
        sync={`runs-${x}`}
      />
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
