/** Exemplars of all queries: as marks on the chart, and as a list below it, for the keyboard too. */
import { useState } from "preact/hooks";
import { href } from "../../frame/base";
import { link } from "../../frame/router";
import { Button } from "../../ui/button";
import { highest, lowest } from "../../ui/ends";
import { count, time } from "../../ui/format";
import type { Mark } from "../../ui/timechart";
import { hostAt } from "../hosts/at";
import type { Exemplar } from "./ask";
import { type Clicked, hostOf, logsOf, traceOf } from "./exemplar";
import { numberOf, type Statistics } from "./series";

/** Marks that an eye tells apart, and that are found by the pointer. */
const MOST_MARKS = 200;
const LISTED_AT_FIRST = 50;
const LISTED_MORE = 200;

/** An exemplar that leads to a trace. */
export interface Traced {
  exemplar: Exemplar;
  trace: string;
  span?: string;
  value: number;
  /** The value in its unit. */
  text: string;
}

/** Those of a query that lead to a trace. */
export function tracedOf(exemplars: readonly Exemplar[], format: (value: number) => string): Traced[] {
  return exemplars.flatMap((exemplar) => {
    const { trace, span } = traceOf(exemplar);
    const value = numberOf(exemplar.value);
    return trace ? [{ exemplar, trace, span, value, text: format(value) }] : [];
  });
}

/** At most so many of a list, from all over it. */
export function evenly<T>(all: readonly T[], most: number): readonly T[] {
  const every = Math.max(1, Math.ceil(all.length / most));
  return all.filter((_, at) => at % every === 0);
}

/** Exemplars where they are; those above or below the lines stand at the edge. */
export function marksOf(
  traced: readonly Traced[],
  shown: readonly Statistics[],
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
  return evenly(traced, MOST_MARKS).map(({ exemplar, trace, span, value, text }) => ({
    time: exemplar.timestamp * 1000,
    value: Math.max(least, Math.min(most, value)),
    label: `exemplar ${text}, trace ${trace.slice(0, 8)}`,
    onOpen: () => open({ exemplar, trace, span, value: text }),
  }));
}

/** The list, the greatest first: what the marks of the chart open; `marked` is how many of them there are. */
export function Exemplars({ traced, marked }: { traced: readonly Traced[]; marked: number }) {
  const [listed, setListed] = useState(LISTED_AT_FIRST);
  if (traced.length === 0) return null;
  return (
    <>
      {marked < traced.length && (
        <p class="muted">
          {count(marked)} of {count(traced.length)} exemplars are marked; less time shows more of them.
        </p>
      )}
      <details class="exemplars">
        <summary>{count(traced.length)} exemplars</summary>
        <ul>
          {traced.slice(0, listed).map((one, index) => (
            <li key={index}>
              <Listed of={one} />
            </li>
          ))}
        </ul>
        {listed < traced.length && (
          <p class="row muted">
            The {count(listed)} greatest of {count(traced.length)} are listed.
            <Button onClick={() => setListed(listed + LISTED_MORE)}>More</Button>
          </p>
        )}
      </details>
    </>
  );
}

function Listed({ of: { exemplar, trace, span, text } }: { of: Traced }) {
  const { timestamp } = exemplar;
  const host = hostOf(exemplar);
  return (
    <>
      <a href={href(link(`/trace/${trace}`, { span }))}>
        {text} <span class="muted">{time(timestamp * 1000)}</span> <code>{trace.slice(0, 8)}</code>
      </a>{" "}
      <a href={href(logsOf(trace, timestamp))}>logs</a>{" "}
      {host && <a href={href(hostAt(host, timestamp * 1000))}>host {host}</a>}
    </>
  );
}
