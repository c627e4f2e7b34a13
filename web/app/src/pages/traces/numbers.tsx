/** The answer of a TraceQL query that asks for numbers over time, as a chart. */
import { useEffect } from "preact/hooks";
import { range } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { queryError } from "../../ui/editor/errors";
import { Card } from "../../ui/page";
import { Answer, Empty } from "../../ui/states";
import { Chart } from "../metrics/chart";
import type { PromSeries } from "../metrics/series";
import { askOverTime } from "./ask";
import { labelText, type TempoSeries } from "./difference";
import { stepSeconds } from "./overtime";
import "../metrics/metrics.css";

const POINTS = 120;
const MOST_SERIES = 500;

export function Numbers({ query, onError }: { query: string; onError: (error?: Error) => void }) {
  const shown = range.value;
  const step = stepSeconds(shown, POINTS);
  const asked = useAsk((signal) => askOverTime(query, shown, step, signal), [query, shown.from, shown.to]);
  useEffect(() => {
    onError(asked.error);
    return () => onError(undefined);
  }, [asked.error]);
  // What is wrong with the query is shown where it is written.
  if (asked.error && queryError(query, asked.error)) return null;
  // Points are at whole numbers of their step.
  const from = Math.floor(shown.from / 1000 / step) * step * 1000;
  const to = Math.ceil(shown.to / 1000 / step) * step * 1000;
  return (
    <Card title="Numbers over time">
      <Answer of={asked}>
        {(series) =>
          series.length === 0 ? (
            <Empty title="The query answers no series in the time shown" />
          ) : (
            <Chart
              answers={[
                {
                  query: { text: unitText(query), legend: "", isHidden: false },
                  letter: "A",
                  answer: {
                    series: series.slice(0, MOST_SERIES).map(seriesOf),
                    isCut: false,
                    warnings: [],
                    from,
                    to,
                  },
                  exemplars: [],
                },
              ]}
              shape="lines"
              range={shown}
              step={step}
            />
          )
        }
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
