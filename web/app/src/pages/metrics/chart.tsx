/** The answers of all queries in one chart, with a legend that has the numbers of each series. */
import { useMemo, useRef, useState } from "preact/hooks";
import { href } from "../../frame/base";
import { link } from "../../frame/router";
import { type Range, setRange } from "../../frame/time";
import { colorAt } from "../../ui/colors";
import { highest, lowest } from "../../ui/ends";
import { bytes, count, duration, percent, time } from "../../ui/format";
import { type Column, Table } from "../../ui/table";
import { type Line, type Mark, TimeChart } from "../../ui/timechart";
import { hostAt } from "../hosts/at";
import type { Exemplar, RangeAnswer } from "./ask";
import { type Clicked, ExemplarPopover, hostOf, logsOf, traceOf } from "./exemplar";
import { type Unit, unitOf } from "./promql";
import { aligned, nameOf, numberOf, type Statistics, stacked, statistics } from "./series";
import type { MetricQuery } from "./state";

export type Shape = "lines" | "stacked" | "bars";

export interface Answered {
  query: MetricQuery;
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
const MOST_MARKS = 200;
const MOST_LISTED = 50;
/** Room that what opens at an exemplar takes. */
const POPOVER_WIDTH = 260;

/** How numbers of a unit are written. */
export function formatOf(unit: Unit): (value: number) => string {
  if (unit === "seconds") return (value) => duration(value * 1e9);
  if (unit === "bytes") return bytes;
  if (unit === "percent") return percent;
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
  const [only, setOnly] = useState<ReadonlySet<string>>(new Set());
  const drawn = useMemo(() => drawnOf(answers, step), [answers, step]);
  const format = formatOf(unitOf(answers[0]?.query.text ?? ""));
  const chosen = useMemo(() => stillThere(only, drawn), [only, drawn]);
  const shown = drawn.filter(({ name }) => chosen.size === 0 || chosen.has(name)).slice(0, MOST_DRAWN);
  const lines = useMemo(() => linesOf(shown, shape), [chosen, drawn, shape]);
  const [clicked, setClicked] = useState<Clicked>();
  const place = useRef<HTMLDivElement>(null);
  const pointer = useRef({ left: 0, top: 0 });
  const open = (one: Omit<Clicked, "left" | "top">) => setClicked({ ...one, ...pointer.current });
  const marks = useMemo(() => marksOf(answers, shown, open), [chosen, drawn]);
  const toggle = (name: string, isMore: boolean) => {
    if (!isMore) return setOnly(chosen.size === 1 && chosen.has(name) ? new Set() : new Set([name]));
    const next = new Set(chosen);
    if (!next.delete(name)) next.add(name);
    setOnly(next);
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
      <Exemplars answers={answers} />
      {drawn.length > MOST_DRAWN && chosen.size === 0 && (
        <p class="muted">
          {MOST_DRAWN} of {count(drawn.length)} series are drawn; a click on a name shows any.
        </p>
      )}
    </>
  );
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

/** Exemplars where they are; those above or below the lines stand at the edge. */
function marksOf(
  answers: readonly Answered[],
  shown: readonly Drawn[],
  open: (one: Omit<Clicked, "left" | "top">) => void,
): Mark[] {
  const most = highest(
    shown.map(({ max }) => max ?? 0),
    0,
  );
  const least = lowest(
    shown.map(({ min }) => min ?? most),
    most,
  );
  const all = answers.flatMap(({ exemplars, query }) =>
    exemplars.map((one) => ({ one, unit: unitOf(query.text) })),
  );
  const every = Math.max(1, Math.ceil(all.length / MOST_MARKS));
  return all
    .filter((_, at) => at % every === 0)
    .flatMap(({ one, unit }) => {
      const { trace, span } = traceOf(one);
      if (!trace) return [];
      const value = numberOf(one.value);
      return [
        {
          time: one.timestamp * 1000,
          value: Math.max(least, Math.min(most, value)),
          label: `exemplar ${formatOf(unit)(value)}, trace ${trace.slice(0, 8)}`,
          onOpen: () => open({ exemplar: one, trace, span, value: formatOf(unit)(value) }),
        },
      ];
    });
}

/** Exemplars as a list, the greatest first: what the marks of the chart open, for the keyboard too. */
function Exemplars({ answers }: { answers: readonly Answered[] }) {
  const all = answers
    .flatMap(({ exemplars, query }) => exemplars.map((one) => ({ one, unit: unitOf(query.text) })))
    .flatMap(({ one, unit }) => {
      const { trace, span } = traceOf(one);
      return trace ? [{ one, trace, span, value: numberOf(one.value), unit, host: hostOf(one) }] : [];
    })
    .sort((a, b) => b.value - a.value);
  if (all.length === 0) return null;
  return (
    <details class="exemplars">
      <summary>{count(all.length)} exemplars</summary>
      <ul>
        {all.slice(0, MOST_LISTED).map(({ one, trace, span, value, unit, host }, index) => (
          <li key={index}>
            <a href={href(link(`/trace/${trace}`, { span }))}>
              {formatOf(unit)(value)} <span class="muted">{time(one.timestamp * 1000)}</span>{" "}
              <code>{trace.slice(0, 8)}</code>
            </a>{" "}
            <a href={href(logsOf(trace, one.timestamp))}>logs</a>{" "}
            {host && <a href={href(hostAt(host, one.timestamp * 1000))}>host {host}</a>}
          </li>
        ))}
      </ul>
    </details>
  );
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
    />
  );
}
