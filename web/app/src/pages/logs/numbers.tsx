/** The answer of a LogQL query that asks for numbers. */
import { useEffect } from "preact/hooks";
import { range, setRange } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { colorAt } from "../../ui/colors";
import { Answer, Empty, Warning } from "../../ui/states";
import { TimeChart } from "../../ui/timechart";
import { askRange, type LokiSeries } from "./ask";

const HEIGHT = 320;
/** More lines cannot be told apart, and make the chart slow. */
const MOST_SERIES = 60;

export function Numbers({ query, onError }: { query: string; onError: (error?: Error) => void }) {
  const shown = range.value;
  const step = Math.max(1, Math.ceil((shown.to - shown.from) / 1000 / 240));
  const asked = useAsk(
    async (signal) => (await askRange(query, shown, { step }, signal)).series,
    [query, shown.from, shown.to],
  );
  useEffect(() => onError(asked.error), [asked.error]);
  // The page shows what is wrong, at its place in the query.
  if (asked.error) return null;
  return (
    <Answer of={asked}>
      {(series) =>
        series.length === 0 ? (
          <Empty title="The query answers no series in the time shown" />
        ) : (
          <section class="card">
            {series.length > MOST_SERIES && (
              <Warning>
                {MOST_SERIES} of {series.length} series are drawn; topk(…) chooses which.
              </Warning>
            )}
            <TimeChart
              {...alignedSeries(series.slice(0, MOST_SERIES))}
              height={HEIGHT}
              range={shown}
              label="Answer of the query"
              onZoom={setRange}
            />
          </section>
        )
      }
    </Answer>
  );
}

function alignedSeries(series: readonly LokiSeries[]) {
  const all = new Set<number>();
  for (const { values } of series) for (const [seconds] of values) all.add(seconds);
  const seconds = [...all].sort((a, b) => a - b);
  const lines = series.map(({ metric, values }, index) => {
    const known = new Map(values.map(([at, value]) => [at, Number(value)]));
    const name = Object.entries(metric)
      .map(([key, value]) => `${key}=${value}`)
      .join(", ");
    return {
      label: name || "value",
      color: colorAt(index),
      values: seconds.map((at) => known.get(at) ?? null),
    };
  });
  return { times: seconds.map((second) => second * 1000), lines };
}
