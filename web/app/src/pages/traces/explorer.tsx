/**
 * The difference explorer: what the spans of a box, or of another selection, have that the rest has not. Each
 * value can be filtered by or left out.
 */
import { useEffect } from "preact/hooks";
import { param, setParams } from "../../frame/router";
import { range } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { queryError } from "../../ui/editor/errors";
import { Check } from "../../ui/field";
import { count, duration, millisOf, percent, time } from "../../ui/format";
import { Card } from "../../ui/page";
import { Answer, Empty, Warning } from "../../ui/states";
import { askTotals } from "./ask";
import { boxOf, type ChosenBox } from "./charts";
import { byField, certainty, compared, type Difference, literal } from "./difference";
import type { FoundTrace } from "./found";
import { comparedIn, durationText, filterOf, withCondition } from "./query";

const VALUES_TOLD = 12;
const VALUES_SHOWN = 4;
const FIELDS_SHOWN = 12;
/** Traces that a question names: proxies mostly take addresses of 8 KiB. */
const MOST_IDS = 100;

/** The duration that a box is of. */
function durationOf(box: ChosenBox): string {
  return box.ofTraces ? "traceDuration" : "duration";
}

/** The traces that the points of a box are of. */
function tracesIn(box: ChosenBox, traces: readonly FoundTrace[]): readonly FoundTrace[] {
  return traces.filter(({ start, durationNanos }) => {
    const millis = millisOf(start);
    // The ends of boxes are whole milliseconds, the nearest.
    const isWithin = millis >= box.from - 0.5 && millis <= box.to + 0.5;
    return isWithin && durationNanos >= box.low && durationNanos <= box.high;
  });
}

/** What is selected, as `compare()` takes it; `traces` are those that a box of traces was drawn around. */
export function comparison(
  box: ChosenBox | undefined,
  selected: string | undefined,
  traces: readonly FoundTrace[] = [],
): string | undefined {
  if (box) {
    const chosen = box.ofTraces ? tracesIn(box, traces) : [];
    // Times would be those of spans, which begin later than their traces.
    if (chosen.length > 0 && chosen.length <= MOST_IDS) {
      const ids = chosen.map(({ id }) => `trace:id = "${id}"`).join(" || ");
      return `compare({ ${ids} }, ${VALUES_TOLD})`;
    }
    const to = box.ofTraces ? box.to + box.high / 1e6 : box.to;
    const field = durationOf(box);
    const inside = `{ ${field} >= ${durationText(box.low)} && ${field} <= ${durationText(box.high)} }`;
    return `compare(${inside}, ${VALUES_TOLD}, ${nanos(box.from)}, ${nanos(to)})`;
  }
  return selected ? `compare(${selected}, ${VALUES_TOLD})` : undefined;
}

function nanos(millis: number): string {
  return `${Math.round(millis)}000000`;
}

export function DifferenceExplorer({
  filter,
  query,
  traces,
  onQuery,
  onError,
}: {
  filter: string;
  query: string;
  /** Those that are shown. */
  traces: readonly FoundTrace[];
  onQuery: (query: string) => void;
  /** Told what is wrong with a comparison that the query itself asks for. */
  onError: (error?: Error) => void;
}) {
  const box = boxOf(param("box"));
  const typed = comparedIn(query);
  const stage = comparison(box, param("sel"), traces);
  // What was chosen goes before what the query compares.
  const isTyped = stage === undefined && typed !== undefined;
  const selected = isTyped ? typed : param("sel");
  const compares = isTyped ? query : stage && `${filter} | ${stage}`;
  const shown = range.value;
  const isAll = param("chance") === "1";
  const asked = useAsk(
    compares === undefined ? undefined : async (signal) => compared(await askTotals(compares, shown, signal)),
    [compares, shown],
  );
  useEffect(() => {
    if (!isTyped) return;
    onError(asked.error);
    return () => onError(undefined);
  }, [isTyped, asked.error]);
  // What is wrong with the query is shown where it is written.
  if (compares === undefined || (isTyped && queryError(query, asked.error))) return null;
  const close = () =>
    setParams({ box: undefined, sel: undefined, ...(isTyped ? { q: filterOf(query) } : {}) });
  const zoom = (to: ChosenBox) => {
    const field = durationOf(to);
    const low = withCondition(query, { field, operator: ">=", value: durationText(to.low) });
    const q = withCondition(low, { field, operator: "<=", value: durationText(to.high) });
    setParams({ q, from: Math.round(to.from), to: Math.round(to.to), box: undefined, sel: undefined });
  };
  return (
    <Card
      title={<SelectionName box={box} selected={selected} />}
      actions={
        <>
          {box && <Button onClick={() => zoom(box)}>Zoom to the box</Button>}
          <Button kind="quiet" icon="close" label="Close the comparison" onClick={close} />
        </>
      }
    >
      <Answer of={asked} lines={6}>
        {(data) => {
          if (data.selectedTotal === 0) return <Empty title="No span is in the selection" />;
          const fields = byField(data.differences);
          const telling = fields.filter(({ values }) => isAll || Math.abs(values[0]!.score) >= 2.5);
          return (
            <>
              <p class="muted">
                {count(data.selectedTotal)} selected spans, {count(data.restTotal)} others. Parts of either
                that have a value; the most telling first.
              </p>
              {telling.length === 0 && <Empty title="The selection does not differ from the rest" />}
              <div class="differences">
                {telling.slice(0, isAll ? undefined : FIELDS_SHOWN).map(({ field, values }) => (
                  <FieldDifference
                    key={field}
                    field={field}
                    values={values}
                    query={query}
                    onQuery={onQuery}
                  />
                ))}
              </div>
              {data.cut.length > 0 && (
                <Warning>Only the most frequent values are told of: {data.cut.join(", ")}.</Warning>
              )}
              <Check
                label="Also what may be chance"
                checked={isAll}
                onChange={(chance) => setParams({ chance }, { replace: true })}
              />
            </>
          );
        }}
      </Answer>
    </Card>
  );
}

function SelectionName({ box, selected }: { box?: ChosenBox; selected?: string }) {
  if (!box) {
    return (
      <>
        Selection <code>{selected}</code> against the rest
      </>
    );
  }
  return (
    <>
      {time(box.from)} to {time(box.to)}, {box.ofTraces ? "traces of " : ""}
      {duration(box.low)} to {duration(box.high)} against the rest
    </>
  );
}

function FieldDifference(props: {
  field: string;
  values: Difference[];
  query: string;
  onQuery: (query: string) => void;
}) {
  const { field, values, query, onQuery } = props;
  const filter = (one: Difference, operator: string) =>
    onQuery(withCondition(query, { field: one.field, operator, value: literal(one) }));
  return (
    <section class="difference">
      <h3 class="ellipsis" title={field}>
        {field}
      </h3>
      {values.slice(0, VALUES_SHOWN).map((one) => (
        <div
          key={`${one.isText} ${one.value}`}
          class="difference-row"
          title={`${certainty(one.score)} (${one.score.toFixed(1)} standard errors)`}
        >
          <span class="ellipsis" title={one.value}>
            {one.value}
          </span>
          <span class="difference-bars" aria-hidden="true">
            <span class="difference-bar difference-selected" style={{ width: percentOf(one.selectedPart) }} />
            <span class="difference-bar difference-rest" style={{ width: percentOf(one.restPart) }} />
          </span>
          <span class="difference-parts">
            <span class="hidden">{certainty(one.score)}: </span>
            <b>{percent(one.selectedPart)}</b> <span class="muted">{percent(one.restPart)}</span>
          </span>
          <span class="difference-actions">
            <Button
              kind="quiet"
              icon="plus"
              label={`Only ${field} = ${one.value}`}
              onClick={() => filter(one, "=")}
            />
            <Button
              kind="quiet"
              icon="minus"
              label={`Without ${field} = ${one.value}`}
              onClick={() => filter(one, "!=")}
            />
          </span>
        </div>
      ))}
    </section>
  );
}

function percentOf(part: number): string {
  return `${Math.min(100, Math.max(0.5, part * 100))}%`;
}
