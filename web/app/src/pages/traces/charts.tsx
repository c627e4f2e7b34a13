/** What a query finds, over time: a heat map of durations with a box to choose, and rate, errors, duration. */
import { param, setParams } from "../../frame/router";
import { range, setRange } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { colorAt } from "../../ui/colors";
import { count, duration } from "../../ui/format";
import { type HeatBox, Heatmap } from "../../ui/heatmap";
import { Card } from "../../ui/page";
import { Answer } from "../../ui/states";
import { TimeChart } from "../../ui/timechart";
import { askOverTime } from "./ask";
import type { TempoSeries } from "./difference";
import type { FoundTrace } from "./found";
import { aligned, heatOf, labelOf, stepSeconds, totalOf } from "./overtime";
import { Scatter } from "./scatter";

const HEAT_HEIGHT = 150;
const SMALL_HEIGHT = 112;
/** Below this many spans, points say more than shades. */
const FEW_SPANS = 120;

/** What was chosen: spans by their durations, or spans of traces by those of the traces. */
export interface ChosenBox extends HeatBox {
  ofTraces: boolean;
}

/** The box of the address. */
export function boxOf(text: string | undefined): ChosenBox | undefined {
  const parts = text?.split(",") ?? [];
  const ofTraces = parts.length === 5 && parts[4] === "traces";
  const numbers = (ofTraces ? parts.slice(0, 4) : parts).map(Number);
  if (numbers.length !== 4 || numbers.some((value) => !Number.isFinite(value))) return undefined;
  const [from, to, low, high] = numbers as [number, number, number, number];
  return { from, to, low, high, ofTraces };
}

function choose({ from, to, low, high }: HeatBox, ofTraces: boolean): void {
  const numbers = [Math.round(from), Math.round(to), Math.floor(low), Math.ceil(high)];
  setParams({ box: [...numbers, ...(ofTraces ? ["traces"] : [])].join(","), sel: undefined });
}

function clear(): void {
  setParams({ box: undefined });
}

export function Charts({ filter, traces }: { filter: string; traces: readonly FoundTrace[] }) {
  const shown = range.value;
  const box = boxOf(param("box"));
  const heatStep = stepSeconds(shown, 90);
  const heat = useAsk(
    async (signal) =>
      heatOf(
        await askOverTime(`${filter} | histogram_over_time(duration)`, shown, heatStep, signal),
        heatStep,
      ),
    [filter, shown],
  );
  const hasHeat = heat.data !== undefined && totalOf(heat.data) >= FEW_SPANS;
  return (
    <div class="traces-charts">
      <Card
        title="Durations"
        actions={
          (hasHeat || traces.length > 0) && (
            <span class="muted">
              drag a box, or make one with arrows and Enter, to compare it with the rest
            </span>
          )
        }
      >
        <Answer of={heat} lines={5}>
          {(data) =>
            !hasHeat && traces.length > 0 ? (
              <Scatter
                traces={traces}
                height={HEAT_HEIGHT}
                range={shown}
                selection={box}
                onSelect={(chosen) => choose(chosen, true)}
                onClear={clear}
              />
            ) : (
              <Heatmap
                data={data}
                height={HEAT_HEIGHT}
                label="Durations of spans over time"
                format={duration}
                unit="spans"
                selection={box}
                onSelect={(chosen) => choose(chosen, false)}
                onClear={clear}
              />
            )
          }
        </Answer>
      </Card>
      <Red filter={filter} />
    </div>
  );
}

function Red({ filter }: { filter: string }) {
  const shown = range.value;
  const step = stepSeconds(shown, 60);
  const rates = useAsk(
    (signal) => askOverTime(`${filter} | rate() by (status)`, shown, step, signal),
    [filter, shown],
  );
  const durations = useAsk(
    (signal) => askOverTime(`${filter} | quantile_over_time(duration, .5, .95)`, shown, step, signal),
    [filter, shown],
  );
  const zoom = (from: number, to: number) => setRange(from, to);
  return (
    <>
      <Card title="Spans per second">
        <Answer of={rates} lines={4}>
          {(series) => {
            const { times, values } = aligned(series);
            const total = times.map((_, at) => values.reduce((sum, row) => sum + (row[at] ?? 0), 0));
            return (
              <TimeChart
                times={times}
                height={SMALL_HEIGHT}
                range={shown}
                label="Spans per second"
                sync="traces"
                onZoom={zoom}
                min={0}
                lines={[{ label: "spans per second", color: colorAt(0), values: total, fill: 0.15 }]}
              />
            );
          }}
        </Answer>
      </Card>
      <Card title="Errors per second">
        <Answer of={rates} lines={4}>
          {(series) => <Errors series={series} onZoom={zoom} />}
        </Answer>
      </Card>
      <Card title="Duration, p50 and p95">
        <Answer of={durations} lines={4}>
          {(series) => {
            const { times, values } = aligned(series);
            const lines = series.map((one, at) => ({
              label: `p${Math.round(Number(labelOf(one, "p")) * 100)}`,
              color: colorAt(at === 0 ? 6 : 3),
              values: values[at]!.map((value) => (value ? value * 1e9 : null)),
            }));
            return (
              <TimeChart
                times={times}
                height={SMALL_HEIGHT}
                range={shown}
                label="Duration"
                sync="traces"
                format={duration}
                onZoom={zoom}
                lines={lines}
              />
            );
          }}
        </Answer>
      </Card>
    </>
  );
}

function Errors({
  series,
  onZoom,
}: {
  series: readonly TempoSeries[];
  onZoom: (from: number, to: number) => void;
}) {
  const { times, values } = aligned(series);
  const at = series.findIndex((one) => labelOf(one, "status") === "error");
  const errors = at < 0 ? times.map(() => 0) : values[at]!;
  return (
    <TimeChart
      times={times}
      height={SMALL_HEIGHT}
      range={range.value}
      label="Errors per second"
      sync="traces"
      format={count}
      onZoom={onZoom}
      min={0}
      lines={[{ label: "errors per second", color: colorAt(9), values: errors, fill: 0.15 }]}
    />
  );
}
