/** The search inside a trace: the server finds, rows are marked, and one can walk from match to match. */
import { useEffect, useState } from "preact/hooks";
import { param, setParams } from "../../frame/router";
import { useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { count } from "../../ui/format";
import { askFind } from "./asked";
import { useOfTrace } from "./oftrace";
import type { Matches, TraceState } from "./state";

export const FIND_INPUT = "trace-find";
const TYPED_MILLIS = 200;

/** The next or previous match after the row that is looked at. */
export function stepMatch(state: TraceState, direction: 1 | -1): void {
  const rows = state.matches.peek()?.rows ?? [];
  if (rows.length === 0) return;
  const at = state.selected.peek();
  const next =
    direction === 1
      ? (rows.find((row) => row > at) ?? rows[0]!)
      : (rows.findLast((row) => row < at) ?? rows.at(-1)!);
  state.select(next);
}

export function FindBox({ state, id }: { state: TraceState; id: string }) {
  const find = param("find") ?? param("uiFind") ?? "";
  const [text, setText] = useState(find);
  useEffect(() => setText(find), [find]);
  useEffect(() => {
    if (text === find) return;
    const timer = setTimeout(
      () => setParams({ find: text || null, uiFind: null }, { replace: true }),
      TYPED_MILLIS,
    );
    return () => clearTimeout(timer);
  }, [text, find]);
  const { revision } = state.trace.value.header;
  const question = find.trim() === "" ? undefined : (signal: AbortSignal) => askFind(id, find, signal);
  const asked = useOfTrace(state, useAsk(question, [id, find, revision]));
  useEffect(() => {
    const { data, isOfTrace } = asked;
    state.matches.value = data && isOfTrace ? { text: find, rows: data.rows, total: data.total } : undefined;
  }, [asked.data, revision]);
  const matches = state.matches.value;
  const at = matches?.rows.indexOf(state.selected.value) ?? -1;
  return (
    <div class="find" role="search">
      <input
        id={FIND_INPUT}
        type="search"
        aria-label="Find in this trace"
        placeholder="Find: text, key=value"
        title="Words in names, services, attributes; key=value; ctrl+b"
        value={text}
        spellcheck={false}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") stepMatch(state, event.shiftKey ? -1 : 1);
          if (event.key !== "Escape") return;
          setText("");
          event.currentTarget.blur();
        }}
      />
      <span class={asked.error ? "find-count bad" : "find-count muted"} role="status" aria-live="polite">
        {asked.error ? asked.error.message : (matches && countText(matches, at)) || ""}
      </span>
      <Button
        kind="quiet"
        icon="up"
        label="Previous match"
        disabled={!matches?.total}
        onClick={() => stepMatch(state, -1)}
      />
      <Button
        kind="quiet"
        icon="down"
        label="Next match"
        disabled={!matches?.total}
        onClick={() => stepMatch(state, 1)}
      />
    </div>
  );
}

/** How many there are, and which is looked at; of very many only the first can be marked and walked. */
export function countText({ rows, total }: Matches, at: number): string {
  if (total === 0) return "none";
  const all = at >= 0 ? `${at + 1} of ${count(total)}` : count(total);
  return total > rows.length ? `${all}, first ${count(rows.length)} marked` : all;
}
