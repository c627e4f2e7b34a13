/** What a trace is, above its views: its figures, what is odd about it, what can be done with it. */
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { keep, kept } from "../../frame/kept";
import { link, navigate } from "../../frame/router";
import { copyLink } from "../../frame/share";
import { setLive } from "../../frame/time";
import { Button, CopyButton } from "../../ui/button";
import { FileButton } from "../../ui/file";
import { count, duration, fullTime, millisOf } from "../../ui/format";
import { Icon } from "../../ui/icon";
import { Popover } from "../../ui/popover";
import { exportPath } from "./asked";
import type { Trace, TraceWarning } from "./columns";
import type { TraceState } from "./state";
import { UploadTrace } from "./upload";

const TITLE_LETTERS = 90;

/** Service and name of the span that names the trace. */
export function titleOf({ header }: Trace): string {
  const { main } = header;
  const title = main ? `${main.service || "(no service)"} · ${main.name || "(no name)"}` : "Trace";
  return title.length > TITLE_LETTERS ? `${title.slice(0, TITLE_LETTERS)}…` : title;
}

function Fact({ value, name, tone }: { value: string; name: string; tone?: string }) {
  return (
    <span class={`trace-fact ${tone ?? ""}`}>
      <b>{value}</b> {name}
    </span>
  );
}

const plural = (number: number, one: string) => (number === 1 ? one : `${one}s`);

export function HeadFacts({ trace, isLive }: { trace: Trace; isLive: boolean }) {
  const { header } = trace;
  const { totals } = header;
  return (
    <div class="trace-facts">
      <Fact value={duration(header.durationNanos)} name="" />
      <Fact value={fullTime(millisOf(header.t0))} name="" />
      <Fact value={count(totals.spans)} name={plural(totals.spans, "span")} />
      <Fact value={count(totals.services)} name={plural(totals.services, "service")} />
      {totals.hosts > 0 && <Fact value={count(totals.hosts)} name={plural(totals.hosts, "host")} />}
      <Fact value={count(totals.maxDepth + 1)} name={plural(totals.maxDepth + 1, "level")} />
      {totals.errors > 0 ? (
        <Fact value={`✖ ${count(totals.errors)}`} name={plural(totals.errors, "error")} tone="bad" />
      ) : (
        <Fact value="no" name="errors" />
      )}
      {totals.running > 0 && (
        <span class="trace-fact good" role="status">
          <b>▹ {count(totals.running)}</b> running{isLive ? ", followed live" : ""}
          {!isLive && (
            <button type="button" class="trace-more" onClick={() => setLive("5s")}>
              Follow live
            </button>
          )}
        </span>
      )}
      <span class="trace-fact muted mono">
        {header.traceId} <CopyButton text={header.traceId} label="Copy the trace id" />
      </span>
    </div>
  );
}

const WARNINGS_SHOWN = 2;

/** What is odd: clocks, orphans, circles, damage. Each leads to the first span concerned. */
export function Warnings({ state }: { state: TraceState }) {
  const [isOpen, setOpen] = useState(false);
  const { warnings } = state.trace.value.header;
  if (warnings.length === 0) return null;
  const shown = isOpen ? warnings : warnings.slice(0, WARNINGS_SHOWN);
  return (
    <div class="trace-warnings" role="status">
      {shown.map((warning) => (
        <OneWarning key={warning.code} warning={warning} state={state} />
      ))}
      {warnings.length > WARNINGS_SHOWN && (
        <button type="button" class="trace-more" onClick={() => setOpen(!isOpen)}>
          {isOpen ? "Less" : `${warnings.length - WARNINGS_SHOWN} more`}
        </button>
      )}
    </div>
  );
}

/** Warnings about spans say what they do; how many do it stands before. */
function warningText({ code, count: number, text }: TraceWarning): string {
  if (code === "names-cut" || code === "path-cut") return text;
  if (code === "damaged") return `${count(number)} ${text}`;
  return `${count(number)} ${plural(number, "span")} ${text}`;
}

function OneWarning({ warning, state }: { warning: TraceWarning; state: TraceState }) {
  const { row } = warning;
  return (
    <span class="trace-warning">
      <Icon name="warning" size={13} />
      <span>{warningText(warning)}</span>
      {row !== null && (
        <button type="button" class="trace-more" onClick={() => state.select(row)}>
          Show
        </button>
      )}
    </span>
  );
}

const MARK = "kymo.compare";

/** The trace that was marked to be compared with another. */
const markedTrace = signal<{ id: string; title: string } | undefined>(readMark());

function readMark(): { id: string; title: string } | undefined {
  try {
    const value = JSON.parse(kept(MARK, "tab") ?? "null") as {
      id?: unknown;
      title?: unknown;
    } | null;
    return typeof value?.id === "string" ? { id: value.id, title: String(value.title ?? "") } : undefined;
  } catch {
    return undefined;
  }
}

/** Marks a trace; if another is marked already, shows both. Again the same is marked no more. */
export function markOrCompare(id: string, trace: Trace): void {
  const before = markedTrace.peek();
  if (before && before.id !== id) {
    keep(MARK, null, "tab");
    markedTrace.value = undefined;
    navigate(link("/compare", { a: before.id, b: id }));
    return;
  }
  const marked = before ? undefined : { id, title: titleOf(trace) };
  markedTrace.value = marked;
  keep(MARK, marked ? JSON.stringify(marked) : null, "tab");
}

export function HeadActions({ id, trace }: { id: string; trace: Trace }) {
  const marked = markedTrace.value;
  const isMarked = marked?.id === id;
  const label = isMarked ? "Marked as A" : marked ? `Compare with A` : "Mark for comparison";
  return (
    <>
      <Button
        icon="compare"
        pressed={isMarked}
        title={
          isMarked
            ? "Open another trace, and press m there"
            : (marked?.title ?? "Then open another trace (m)")
        }
        onClick={() => markOrCompare(id, trace)}
      >
        {label}
      </Button>
      <Popover
        label="Export"
        align="right"
        button={
          <>
            <Icon name="download" /> Export
          </>
        }
      >
        {(close) => (
          <div>
            <FileButton
              class="menu-item"
              path={exportPath(id, "otlp")}
              name={`${id}.otlp.json`}
              onDone={close}
            >
              OTLP JSON
            </FileButton>
            <FileButton
              class="menu-item"
              path={exportPath(id, "perfetto")}
              name={`${id}.perfetto.json`}
              onDone={close}
            >
              For Perfetto or Chrome
            </FileButton>
            <button
              type="button"
              class="menu-item"
              onClick={() => {
                copyLink();
                close();
              }}
            >
              Copy link to this view
            </button>
          </div>
        )}
      </Popover>
      <UploadTrace />
    </>
  );
}
