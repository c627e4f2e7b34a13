/** A log record or an event, whole: its text, what it has, and where it leads. */
import { href } from "../../frame/base";
import { Button, CopyButton } from "../../ui/button";
import { duration, fullTime, millisOf } from "../../ui/format";
import { Attributes } from "./attributes";
import { dayOf } from "./leads";
import { logsAround, type Said } from "./said";
import type { TraceState } from "./state";

/** What is longer is for other programs to look at. */
const LETTERS = 100_000;

interface SaidDetailProps {
  said: Said;
  state: TraceState;
  onClose: () => void;
}

export function SaidDetail({ said, state, onClose }: SaidDetailProps) {
  const { text, time, at, row, isEvent } = said;
  const { header } = state.trace.value;
  const name = isEvent ? "Event" : "Log record";
  return (
    <section class="said-detail stack" aria-label={name}>
      <div class="row">
        <b>{name}</b>
        <span class="mono">{fullTime(millisOf(time))}</span>
        <span class="muted">
          {duration(Math.abs(at))} {at < 0 ? "before" : "after"} the trace began
        </span>
        <span class="page-actions">
          {row >= 0 && row !== state.selected.value && (
            <Button icon="traces" onClick={() => state.select(row)}>
              Its span
            </Button>
          )}
          <a class="button button-plain" href={href(logsAround(said))}>
            Logs around it
          </a>
          <CopyButton text={text} label="Copy the text">
            Copy
          </CopyButton>
          <Button kind="quiet" icon="close" label={`Close the ${name.toLowerCase()}`} onClick={onClose} />
        </span>
      </div>
      <pre class="said-text">{text.slice(0, LETTERS)}</pre>
      {text.length > LETTERS && (
        <p class="muted">
          The first {LETTERS} of {text.length} letters are shown; a copy has all.
        </p>
      )}
      {said.attributes && (
        <Attributes list={said.attributes} scope="event" during={dayOf(header.t0, header.durationNanos)} />
      )}
      {said.labels && <Labels labels={said.labels} />}
    </section>
  );
}

function Labels({ labels }: { labels: Readonly<Record<string, string>> }) {
  const sorted = Object.entries(labels).sort(([a], [b]) => a.localeCompare(b));
  return (
    <dl class="values">
      {sorted.map(([name, value]) => (
        <div key={name} class="value-row">
          <dt>{name}</dt>
          <dd>
            <span class="value">{value || <span class="muted">(empty)</span>}</span>
            <CopyButton text={value} label={`Copy ${name}`} />
          </dd>
        </div>
      ))}
    </dl>
  );
}
