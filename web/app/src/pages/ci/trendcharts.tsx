/** The charts of a workflow over time: how long runs take, how many fail, what they wait for and keep. */
import { setRange } from "../../frame/time";
import { colorAt } from "../../ui/colors";
import { duration, percent } from "../../ui/format";
import { Card } from "../../ui/page";
import { type Line, TimeChart } from "../../ui/timechart";
import { seconds } from "./bits";
import { type HAS, timeOf, told } from "./trends";
import type { TrendBin } from "./types";

/** A line of a chart, by what it shows of a part of the time. */
type TrendLine = Omit<Line, "values"> & { of: (bin: TrendBin) => number | null };

function Trend({
  title,
  bins,
  has,
  lines,
  format,
  max,
}: {
  title: string;
  bins: readonly TrendBin[];
  has: keyof typeof HAS;
  lines: readonly TrendLine[];
  format: (value: number) => string;
  max?: number;
}) {
  const shown = told(bins, has);
  return (
    <Card title={title}>
      <TimeChart
        times={shown.map((bin) => bin.start_ms)}
        lines={lines.map(({ of, ...line }) => ({ ...line, values: shown.map(of) }))}
        height={130}
        label={title}
        format={format}
        range={timeOf(bins)}
        min={0}
        max={max}
        sync="ci"
        onZoom={(from, to) => setRange(from, to)}
      />
    </Card>
  );
}

export function Trends({ bins }: { bins: readonly TrendBin[] }) {
  return (
    <div class="ci-trends">
      <Trend
        title="Duration: median, p95"
        bins={bins}
        has="duration"
        format={seconds}
        lines={[
          { label: "median", color: colorAt(0), of: (bin) => bin.median_seconds, points: true },
          { label: "p95", color: colorAt(1), of: (bin) => bin.p95_seconds, dash: [4, 3], points: true },
        ]}
      />
      <Trend
        title="Runs and failures"
        bins={bins}
        has="runs"
        format={(value) => String(Math.round(value))}
        lines={[
          { label: "runs", color: colorAt(14), of: (bin) => bin.runs, bars: true, fill: 0.4 },
          { label: "failed", color: colorAt(9), of: (bin) => bin.failures, bars: true, fill: 0.9 },
        ]}
      />
      <Trend
        title="Waiting for runners, p95"
        bins={bins}
        has="queue"
        format={seconds}
        lines={[{ label: "queue p95", color: colorAt(4), of: (bin) => bin.queue_p95_seconds, points: true }]}
      />
      <Trend
        title="Runner minutes"
        bins={bins}
        has="minutes"
        format={(value) => duration(value * 60e9)}
        lines={[
          {
            label: "runner minutes",
            color: colorAt(3),
            of: (bin) => bin.runner_minutes,
            bars: true,
            fill: 0.5,
          },
        ]}
      />
      {told(bins, "cache").length > 0 && (
        <Trend
          title="Cache hits"
          bins={bins}
          has="cache"
          max={1}
          format={percent}
          lines={[{ label: "hit rate", color: colorAt(2), of: (bin) => bin.hit_rate, points: true }]}
        />
      )}
    </div>
  );
}
