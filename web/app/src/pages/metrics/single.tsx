/** The series that one query of another language answers, as a chart. */
import type { Range } from "../../frame/time";
import { Empty, Warning } from "../../ui/states";
import { MOST_SERIES } from "./ask";
import { Chart } from "./chart";
import type { PromSeries } from "./series";
import "./metrics.css";

interface SeriesChartProps {
  /** The query, whose names tell the unit. */
  text: string;
  series: readonly PromSeries[];
  /** The first and the last step. */
  steps: Range;
  step: number;
  range: Range;
}

export function SeriesChart({ text, series, steps, step, range }: SeriesChartProps) {
  if (series.length === 0) return <Empty title="The query answers no series in the time shown" />;
  const answer = { series: series.slice(0, MOST_SERIES), isCut: false, warnings: [], ...steps };
  const query = { text, legend: "", isHidden: false };
  return (
    <>
      {series.length > MOST_SERIES && (
        <Warning>
          {MOST_SERIES} of {series.length} series are shown; topk(…) chooses which.
        </Warning>
      )}
      <Chart
        answers={[{ query, text, letter: "A", answer, exemplars: [] }]}
        shape="lines"
        range={range}
        step={step}
      />
    </>
  );
}
