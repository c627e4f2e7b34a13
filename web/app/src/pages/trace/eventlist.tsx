/** Events of a span, and exceptions with their stack traces. Of many the first are shown, and more on demand. */
import { useMemo, useState } from "preact/hooks";
import { CopyButton } from "../../ui/button";
import { count, duration } from "../../ui/format";
import { Icon } from "../../ui/icon";
import { type Attribute, type SpanEvent, valueText } from "./asked";
import { Attributes } from "./attributes";
import type { Stretch } from "./leads";

function textOf(list: readonly Attribute[], key: string): string {
  return valueText(list.find((attribute) => attribute.key === key)?.value);
}

/** What an exception says in a line. */
export function exceptionTitle(attributes: readonly Attribute[]): string {
  const [type, message] = [textOf(attributes, "exception.type"), textOf(attributes, "exception.message")];
  return [type, message].filter(Boolean).join(": ") || "exception";
}

/** A training run has an event for each step: all at once would stop the page. */
const SHOWN_AT_ONCE = 100;

/** The first of a list, and what shows more of it. */
function useFirst<T>(list: readonly T[]) {
  const [most, setMost] = useState(SHOWN_AT_ONCE);
  const left = list.length - most;
  const more = left > 0 && (
    <button type="button" class="trace-more" onClick={() => setMost(most + SHOWN_AT_ONCE)}>
      {count(Math.min(left, SHOWN_AT_ONCE))} more of {count(list.length)}
    </button>
  );
  return { first: list.slice(0, most), more };
}

/** In order of time, each read once. */
export function byTime(events: readonly SpanEvent[]): { event: SpanEvent; time: bigint }[] {
  const timed = events.map((event) => ({ event, time: BigInt(event.time) }));
  return timed.sort((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0));
}

/** The exceptions of a span, each with its stack trace, closed if there are many. */
export function Exceptions({ events }: { events: readonly SpanEvent[] }) {
  const exceptions = events.filter(({ name }) => name === "exception");
  const { first, more } = useFirst(exceptions);
  if (exceptions.length === 0) return null;
  return (
    <div class="stack">
      {first.map(({ attributes }, at) => {
        const stack = textOf(attributes, "exception.stacktrace");
        return (
          <details key={at} class="exception" open={exceptions.length === 1}>
            <summary>
              <Icon name="error" size={13} /> {exceptionTitle(attributes)}
            </summary>
            {stack && (
              <div class="exception-stack">
                <CopyButton text={stack} label="Copy the stack trace" />
                <pre>{stack}</pre>
              </div>
            )}
          </details>
        );
      })}
      {more}
    </div>
  );
}

export function EventList({
  events,
  dropped,
  from,
  during,
}: {
  events: readonly SpanEvent[];
  dropped: number;
  /** Start of the span, nanoseconds since 1970 as text. */
  from: string;
  /** When other traces are looked for. */
  during: Stretch;
}) {
  const start = BigInt(from);
  const sorted = useMemo(() => byTime(events), [events]);
  const { first, more } = useFirst(sorted);
  return (
    <div class="stack">
      {sorted.length === 0 && <p class="muted">None</p>}
      {first.map(({ event, time }, at) => (
        <details key={at} class="event" open={sorted.length <= 5}>
          <summary>
            <span class="muted">+{duration(Number(time - start))}</span> <b>{event.name}</b>
          </summary>
          <Attributes
            list={event.attributes}
            scope="event"
            during={during}
            dropped={event.droppedAttributes}
          />
        </details>
      ))}
      {more}
      {dropped > 0 && <p class="warn">{dropped} more were dropped by the sender.</p>}
    </div>
  );
}
