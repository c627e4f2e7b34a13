/** The answer of a LogQL query that asks for numbers, as a chart. */
import { useEffect } from "preact/hooks";
import { range } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { Answer, Empty, Warning } from "../../ui/states";
import { Chart } from "../metrics/chart";
import { askRange } from "./ask";
import "../metrics/metrics.css";

/** More series cannot be told apart, and make the chart slow. */
const MOST_SERIES = 500;
const POINTS = 240;

export function Numbers({ query, onError }: { query: string; onError: (error?: Error) => void }) {
  const shown = range.value;
  const step = Math.max(1, Math.ceil((shown.to - shown.from) / 1000 / POINTS));
  // Steps are at whole numbers of their length, so that a refresh moves no point.
  const [from, to] = [shown.from, shown.to].map(
    (millis) => Math.ceil(millis / 1000 / step) * step * 1000,
  ) as [number, number];
  const asked = useAsk(
    async (signal) => (await askRange(query, { from, to }, { step }, signal)).series,
    [query, from, to],
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
                {MOST_SERIES} of {series.length} series are shown; topk(…) chooses which.
              </Warning>
            )}
            <Chart
              answers={[
                {
                  query: { text: query, legend: "", isHidden: false },
                  letter: "A",
                  answer: { series: series.slice(0, MOST_SERIES), isCut: false, warnings: [], from, to },
                  exemplars: [],
                },
              ]}
              shape="lines"
              range={shown}
              step={step}
            />
          </section>
        )
      }
    </Answer>
  );
}
