/** Events of a span, and exceptions with their stack traces. */
import { CopyButton } from "../../ui/button";
import { duration } from "../../ui/format";
import { Icon } from "../../ui/icon";
import { type Attribute, type SpanEvent, valueText } from "./asked";
import { Attributes } from "./attributes";

function textOf(list: readonly Attribute[], key: string): string {
  return valueText(list.find((attribute) => attribute.key === key)?.value);
}

/** What an exception says in a line. */
export function exceptionTitle(attributes: readonly Attribute[]): string {
  const [type, message] = [textOf(attributes, "exception.type"), textOf(attributes, "exception.message")];
  return [type, message].filter(Boolean).join(": ") || "exception";
}

/** The exceptions of a span, each with its stack trace, closed if there are many. */
export function Exceptions({ events }: { events: readonly SpanEvent[] }) {
  const exceptions = events.filter(({ name }) => name === "exception");
  if (exceptions.length === 0) return null;
  return (
    <div class="stack">
      {exceptions.map(({ attributes }, at) => {
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
    </div>
  );
}

export function EventList({
  events,
  dropped,
  from,
}: {
  events: readonly SpanEvent[];
  dropped: number;
  /** Start of the span, nanoseconds since 1970 as text. */
  from: string;
}) {
  const start = BigInt(from);
  const sorted = [...events].sort((a, b) => Number(BigInt(a.time) - BigInt(b.time)));
  return (
    <div class="stack">
      {sorted.length === 0 && <p class="muted">None</p>}
      {sorted.map((event, at) => (
        <details key={at} class="event" open={sorted.length <= 5}>
          <summary>
            <span class="muted">+{duration(Number(BigInt(event.time) - start))}</span> <b>{event.name}</b>
          </summary>
          <Attributes list={event.attributes} scope="event" dropped={event.droppedAttributes} />
        </details>
      ))}
      {dropped > 0 && <p class="warn">{dropped} more were dropped by the sender.</p>}
    </div>
  );
}
