/** The answers of all queries in one chart, with a legend that has the numbers of each series. */
import { useMemo, useRef, useState } from "preact/hooks";
import { paramAll, setParams } from "../../frame/router";
import { type Range, setRange } from "../../frame/time";
import { colorAt } from "../../ui/colors";
import { bytes, count, duration, percent } from "../../ui/format";
import { addressSorting } from "../../ui/sorting";
import { type Column, Table } from "../../ui/table";
import { type Line, TimeChart } from "../../ui/timechart";
import type { Exemplar, RangeAnswer } from "./ask";
import { type Clicked, ExemplarPopover } from "./exemplar";
import { Exemplars, marksOf, tracedOf } from "./exemplars";
import { type Unit, unitOf } from "./promql";
import { aligned, nameOf, type Statistics, stacked, statistics } from "./series";
import type { MetricQuery } from "./state";

export type Shape = "lines" | "stacked" | "bars";

export interface Answered {
  query: MetricQuery;
  /** What was asked: the query with its intervals put in. */
  text: string;
  letter: string;
  answer: RangeAnswer;
  exemplars: readonly Exemplar[];
}

interface Drawn extends Statistics {
  name: string;
  color: string;
  values: readonly (number | null)[];
  times: readonly number[];
}

const HEIGHT = 320;
/** Lines that are drawn; the legend has all. */
const MOST_DRAWN = 120;
/** Room that what opens at an exemplar takes. */
const POPOVER_WIDTH = 260;

/** Series that are shown alone, by their names, in the address. */
const ONLY = "only";

/** How numbers of a unit are written. */
export function formatOf(unit: Unit): (value: number) => string {
  if (unit === "seconds") return (value) => duration(value * 1e9);
  if (unit === "bytes") return bytes;
  if (unit === "share") return percent;
  if (unit === "percent") return (value) => percent(value / 100);
  return count;
}

export function Chart({
  answers,
  shape,
  range,
  step,
}: {
  answers: readonly Answered[];
  shape: Shape;
  range: Range;
  step: number;
}) {
  const only = paramAll(ONLY);
  const drawn = useMemo(() => drawnOf(answers, step), [answers, step]);
  const format = formatOf(unitOf(answers[0]?.query.text ?? ""));
  const chosen = useMemo(() => stillThere(new Set(only), drawn), [only.join("\u0000"), drawn]);
  const shown = drawn.filter(({ name }) => chosen.size === 0 || chosen.has(name)).slice(0, MOST_DRAWN);
  const lines = useMemo(() => linesOf(shown, shape), [chosen, drawn, shape]);
  const [clicked, setClicked] = useState<Clicked>();
  const place = useRef<HTMLDivElement>(null);
  const pointer = useRef({ left: 0, top: 0 });
  const open = (one: Omit<Clicked, "left" | "top">) => setClicked({ ...one, ...pointer.current });
  const traced = useMemo(
    () =>
      answers
        .flatMap(({ exemplars, query }) => tracedOf(exemplars, formatOf(unitOf(query.text))))
        .sort((a, b) => b.value - a.value),
    [answers],
  );
  const marks = useMemo(() => marksOf(traced, shown, open), [chosen, drawn, traced]);
  const toggle = (name: string, isMore: boolean) => {
    const next = toggled(chosen, name, isMore);
    setParams({ [ONLY]: next.length > 0 ? next : undefined }, { replace: true });
  };
  return (
    <>
      <div
        ref={place}
        class="exemplar-place"
        onPointerDown={({ clientX, clientY }) => {
          const box = place.current!.getBoundingClientRect();
          // What opens is to be within the chart.
          const left = Math.max(0, Math.min(clientX - box.left, box.width - POPOVER_WIDTH));
          pointer.current = { left, top: clientY - box.top + 8 };
        }}
      >
        <TimeChart
          times={drawn[0]?.times ?? []}
          lines={lines}
          height={HEIGHT}
          range={range}
          min={shape === "lines" ? undefined : 0}
          label="Answers of the queries"
          format={format}
          onZoom={setRange}
          marks={marks}
        />
        {clicked && <ExemplarPopover of={clicked} close={() => setClicked(undefined)} />}
      </div>
      <Legend drawn={drawn} only={chosen} format={format} onToggle={toggle} />
      <Exemplars traced={traced} marked={marks.length} />
      {drawn.length > MOST_DRAWN && chosen.size === 0 && (
        <p class="muted">
          {MOST_DRAWN} of {count(drawn.length)} series are drawn; a click on a name shows any.
        </p>
      )}
    </>
  );
}

/** What is chosen after a click on a name: that alone, or all again; with `isMore`, it too or no more. */
export function toggled(chosen: ReadonlySet<string>, name: string, isMore: boolean): string[] {
  if (isMore) return chosen.has(name) ? [...chosen].filter((one) => one !== name) : [...chosen, name];
  return chosen.size === 1 && chosen.has(name) ? [] : [name];
}

/** What was chosen, of what is still answered: nothing chosen is all, not none. */
export function stillThere(
  only: ReadonlySet<string>,
  drawn: readonly { name: string }[],
): ReadonlySet<string> {
  return new Set(drawn.flatMap(({ name }) => (only.has(name) ? [name] : [])));
}

function drawnOf(answers: readonly Answered[], step: number): Drawn[] {
  const all: Drawn[] = [];
  const from = Math.min(...answers.map(({ answer }) => answer.from));
  const to = Math.max(...answers.map(({ answer }) => answer.to));
  const names = new Set<string>();
  for (const { query, letter, answer } of answers) {
    const { times, values } = aligned(answer.series, from, to, step * 1000);
    answer.series.forEach((series, at) => {
      let name = nameOf(series.metric, query.legend, query.text);
      if (names.has(name)) name = `${name} (${letter})`;
      // Several series of a query may have one name by its format.
      for (let number = 2; names.has(name); number += 1) name = `${name.replace(/ #\d+$/, "")} #${number}`;
      names.add(name);
      all.push({ name, color: colorAt(all.length), values: values[at]!, times, ...statistics(values[at]!) });
    });
  }
  return all;
}

function linesOf(shown: readonly Drawn[], shape: Shape): Line[] {
  if (shape === "lines") {
    return shown.map(({ name, color, values }) => ({
      label: name,
      color,
      values,
      fill: shown.length === 1 ? 0.12 : 0,
    }));
  }
  const sums = stacked(shown.map(({ values }) => values));
  return shown
    .map(({ name, color, values }, at) => ({
      label: name,
      color,
      values: sums[at]!,
      told: values,
      fill: shape === "bars" ? 1 : 0.6,
      bars: shape === "bars",
      width: shape === "bars" ? 0 : 1,
    }))
    .reverse();
}

function Legend(props: {
  drawn: readonly Drawn[];
  only: ReadonlySet<string>;
  format: (value: number) => string;
  onToggle: (name: string, isMore: boolean) => void;
}) {
  const { drawn, only, format, onToggle } = props;
  const columns = useMemo<Column<Drawn>[]>(() => {
    const figure = (id: keyof Statistics, title: string): Column<Drawn> => ({
      id,
      title,
      width: "100px",
      align: "right",
      render: (row) => (row[id] === undefined ? "–" : format(row[id])),
      value: (row) => row[id],
    });
    const name: Column<Drawn> = {
      id: "name",
      title: "Series",
      width: "minmax(200px, 1fr)",
      render: (row) => (
        <button
          type="button"
          class="legend-name ellipsis"
          aria-pressed={only.has(row.name)}
          title={`${row.name}\nA click shows it alone, with Control it and others`}
          onClick={(event) => onToggle(row.name, event.ctrlKey || event.metaKey)}
        >
          <span
            class="swatch"
            style={{ background: row.color, opacity: only.size === 0 || only.has(row.name) ? 1 : 0.25 }}
          />{" "}
          {row.name}
        </button>
      ),
      value: (row) => row.name,
    };
    return [name, figure("min", "Min"), figure("mean", "Mean"), figure("max", "Max"), figure("last", "Last")];
  }, [only, format, onToggle]);
  return (
    <Table
      label="Series"
      columns={columns}
      rows={drawn}
      rowKey={({ name }) => name}
      rowHeight={25}
      height={Math.min(300, drawn.length * 25 + 2)}
      {...addressSorting(undefined, "sort.series")}
    />
  );
}
