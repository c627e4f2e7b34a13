/** The answer of a LogQL query that asks for numbers, as a chart. */
import { range } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { queryError } from "../../ui/editor/errors";
import { Answer } from "../../ui/states";
import { SeriesChart } from "../metrics/single";
import { askRange, numbersStep, wholeSteps } from "./ask";
import { useReported } from "./reported";

export function Numbers({ query, onError }: { query: string; onError: (error?: Error) => void }) {
  const shown = range.value;
  const step = numbersStep(shown);
  const steps = wholeSteps(shown, step);
  const asked = useAsk(
    async (signal) => (await askRange(query, steps, { step }, signal)).series,
    [query, shown],
  );
  useReported(asked.error, onError);
  // What is wrong with the query is shown where it is written.
  if (queryError(query, asked.error)) return null;
  return (
    <Answer of={asked}>
      {(series) => (
        <section class="card">
          <SeriesChart text={query} series={series} steps={steps} step={step} range={shown} />
        </section>
      )}
    </Answer>
  );
}
