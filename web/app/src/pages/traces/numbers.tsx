/** The answer of a TraceQL query that asks for numbers over time, as a chart. */
import { useEffect } from "preact/hooks";
import { range } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { queryError } from "../../ui/editor/errors";
import { Card } from "../../ui/page";
import { Answer } from "../../ui/states";
import type { PromSeries } from "../metrics/series";
import { SeriesChart } from "../metrics/single";
import { askOverTime } from "./ask";
import { labelText, type TempoSeries } from "./difference";
import { stepSeconds } from "./overtime";

const POINTS = 120;

export function Numbers({ query, onError }: { query: string; onError: (error?: Error) => void }) {
  const shown = range.value;
  const step = stepSeconds(shown, POINTS);
  const asked = useAsk(
    async (signal) => (await askOverTime(query, shown, step, signal)).map(seriesOf),
    [query, shown],
  );
  useEffect(() => {
    onError(asked.error);
    return () => onError(undefined);
  }, [asked.error]);
  // What is wrong with the query is shown where it is written.
  if (asked.error && queryError(query, asked.error)) return null;
  // Points are at whole numbers of their step.
  const steps = {
    from: Math.floor(shown.from / 1000 / step) * step * 1000,
    to: Math.ceil(shown.to / 1000 / step) * step * 1000,
  };
  return (
    <Card title="Numbers over time">
      <Answer of={asked}>
        {(series) => (
          <SeriesChart text={unitText(query)} series={series} steps={steps} step={step} range={shown} />
        )}
      </Answer>
    </Card>
  );
}

function seriesOf({ labels, samples }: TempoSeries): PromSeries {
  return {
    metric: Object.fromEntries(labels.map(({ key, value }) => [key, labelText(value)])),
    values: samples.map(({ timestampMs, value = 0 }) => [Number(timestampMs) / 1000, String(value)] as const),
  };
}

/** Durations are in seconds, which the chart tells by a name. */
function unitText(query: string): string {
  return /_over_time\s*\(\s*(?:span:|trace:)?duration\b/.test(query) ? "duration_seconds" : query;
}
