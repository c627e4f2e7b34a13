/** How the answers of queries are shown. */
import { param } from "../../frame/router";
import { range, setRange } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { count } from "../../ui/format";
import { Heatmap } from "../../ui/heatmap";
import { Answer, Empty, Warning } from "../../ui/states";
import { askNow, MOST_SAMPLES, MOST_SERIES } from "./ask";
import { type Answered, Chart, formatOf, type Shape } from "./chart";
import { heatOf } from "./heat";
import { Nothing } from "./nothing";
import { heatQuery, topOf, unitOf } from "./promql";
import { InstantTable, Raw } from "./tables";

export type View = "chart" | "heat" | "table" | "raw";

export function viewOf(text: string | undefined): View {
  return text === "heat" || text === "table" || text === "raw" ? text : "chart";
}

const HEAT_HEIGHT = 320;
const TOP_OFFERED = 20;

interface ShownProps {
  answered: readonly Answered[];
  view: View;
  step: number;
  /** Takes another text for a query. */
  onTop: (index: number, text: string) => void;
}

export function Shown({ answered, view, step, onTop }: ShownProps) {
  const shape = param("shape");
  const series = answered.reduce((sum, { answer }) => sum + answer.series.length, 0);
  return (
    <div class="stack">
      {answered.map(({ answer, query, letter }) => (
        <div key={letter} class="stack">
          {answer.isCut && (
            <Warning>
              {letter} has more than {count(MOST_SERIES)} series; that many are shown.{" "}
              <Button onClick={() => onTop(letter.charCodeAt(0) - 65, topOf(query.text, TOP_OFFERED))}>
                Only the {TOP_OFFERED} greatest
              </Button>
            </Warning>
          )}
          {answer.warnings.map((words) => (
            <Warning key={words}>
              {letter}: {words}
            </Warning>
          ))}
        </div>
      ))}
      {view === "table" ? (
        answered.map((one) => <Instant key={one.letter} of={one} hasOthers={answered.length > 1} />)
      ) : series === 0 ? (
        answered[0] && <Nothing query={answered[0].text} />
      ) : view === "raw" ? (
        <Raw of={answered.map(({ letter, answer }) => ({ query: letter, result: answer.series }))} />
      ) : view === "heat" ? (
        answered.map((one) => <Heat key={one.letter} of={one} step={step} />)
      ) : (
        <section class="card">
          <Chart
            answers={answered}
            shape={shape === "stacked" || shape === "bars" ? (shape as Shape) : "lines"}
            range={range.value}
            step={step}
          />
        </section>
      )}
    </div>
  );
}

function Heat({ of, step }: { of: Answered; step: number }) {
  const { answer, query, letter } = of;
  const data = heatOf(answer.series, answer.from, answer.to, step * 1000);
  if (!data) {
    return (
      <Empty title={`${letter} has no buckets`}>
        <p>
          A heat map needs a native histogram, or series with the label <code>le</code>, such as{" "}
          <code>{heatQuery("x", true)}</code>.
        </p>
      </Empty>
    );
  }
  return (
    <section class="card">
      <Heatmap
        data={data}
        height={HEAT_HEIGHT}
        label={query.text}
        format={formatOf(
          /_seconds/.test(query.text) ? "seconds" : /_bytes/.test(query.text) ? "bytes" : "number",
        )}
        unit="observations"
        onSelect={({ from, to }) => setRange(from, to)}
      />
    </section>
  );
}

function Instant({ of, hasOthers }: { of: Answered; hasOthers: boolean }) {
  const shown = range.value;
  const asked = useAsk((signal) => askNow(of.text, shown, signal), [of.text, shown]);
  return (
    <Answer of={asked}>
      {({ samples, isCut }) => (
        <>
          {hasOthers && <h2>{of.letter}</h2>}
          {isCut && (
            <Warning>
              There are more than {count(MOST_SAMPLES)} values; that many are shown. topk(…) chooses which.
            </Warning>
          )}
          {samples.length === 0 ? (
            <Empty title="No value at the end of the time shown" />
          ) : (
            <InstantTable samples={samples} format={formatOf(unitOf(of.query.text))} />
          )}
        </>
      )}
    </Answer>
  );
}
