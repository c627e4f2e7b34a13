/** The keyboard of a trace: Jaeger's keys, and ours. */
import { type Binding, useKeys } from "../../frame/keys";
import { param, setParams } from "../../frame/router";
import { pan, zoom } from "../../ui/canvas/window";
import { FLAG, has, spanId } from "./columns";
import { FIND_INPUT, stepMatch } from "./find";
import { markOrCompare } from "./head";
import type { TraceState } from "./state";
import type { TimelineView } from "./timelineview";
import { currentView, LABELS, setView, VIEWS } from "./views";

const STEP = 0.1;
const LARGE_STEP = 0.5;
const CLOSER = 0.8;

/** The row shown that is so many places after the one looked at. */
function walk(state: TraceState, by: number, view: TimelineView | undefined): void {
  const rows = state.rows.peek();
  const at = rows.indexOf(state.selected.peek());
  const start = at >= 0 ? at + by : rows.indexOf(view?.firstRow ?? rows.at(0));
  const row = rows.at(Math.max(0, Math.min(rows.count - 1, start)));
  if (row >= 0) state.select(row);
}

/** The next span shown that runs in the window, as `f` and `b` have it in Jaeger. */
function walkInSight(state: TraceState, direction: 1 | -1, view: TimelineView | undefined): void {
  const rows = state.rows.peek();
  const at = rows.indexOf(state.selected.peek());
  const first = rows.indexOf(view?.firstRow ?? rows.at(0));
  const row = state.rowInSight(at >= 0 ? at : first - (direction === 1 ? 1 : 0), direction);
  if (row >= 0) state.select(row);
}

/** Opens and closes the details of the span that is looked at; without one, looks at the first in sight. */
function toggleDetails(state: TraceState, view: TimelineView | undefined): void {
  if (state.selected.peek() >= 0) {
    setParams({ panel: param("panel") === "0" ? null : "0" }, { replace: true });
    return;
  }
  setParams({ panel: null }, { replace: true });
  walk(state, 0, view);
}

function clear(state: TraceState): void {
  if (state.area.peek()) state.mark(undefined);
  else if (state.selected.peek() >= 0) state.select(-1);
  else if (param("find") ?? param("uiFind")) setParams({ find: null, uiFind: null }, { replace: true });
  else if (param("root") || param("only") || param("service"))
    state.filter({ root: null, only: null, service: null });
  else state.look(state.whole);
}

function isolate(state: TraceState): void {
  const row = state.selected.peek();
  if (param("root")) state.filter({ root: null });
  else if (row >= 0) state.filter({ root: spanId(state.trace.peek(), row) });
}

/** Keys of the tree while it has the focus, as trees have them everywhere. */
export function treeKey(event: KeyboardEvent, state: TraceState): void {
  const [trace, rows, row] = [state.trace.peek(), state.rows.peek(), state.selected.peek()];
  const isOpen = row >= 0 && rows.hasChildren(row) && rows.folded[row] === 0;
  const acts: Record<string, () => unknown> = {
    ArrowDown: () => walk(state, 1, undefined),
    ArrowUp: () => walk(state, -1, undefined),
    " ": () => row >= 0 && state.fold((all) => all.toggle(row)),
    Home: () => state.select(rows.at(0)),
    End: () => state.select(rows.at(rows.count - 1)),
    ArrowRight: () => {
      if (row < 0 || isOpen) walk(state, 1, undefined);
      else state.fold((all) => all.fold(row, false));
    },
    ArrowLeft: () => {
      if (isOpen) state.fold((all) => all.fold(row, true));
      else if (row >= 0 && trace.parent[row]! >= 0) state.select(trace.parent[row]!);
    },
  };
  const act = acts[event.key];
  if (!act || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  event.preventDefault();
  event.stopPropagation();
  act();
}

export function useTraceKeys(
  state: TraceState,
  handle: { current: TimelineView | undefined },
  id: string,
): void {
  const key = (keys: string, label: string, run: (event: KeyboardEvent) => void): Binding => ({
    keys,
    label,
    run,
  });
  const move = (part: number) => () => state.look(pan(state.window.peek(), part, state.length));
  const scale = (factor: number) => () => state.look(zoom(state.window.peek(), factor, 0.5, state.length));
  const jump = (direction: 1 | -1, flag: number) => () => {
    const row = state.findRow(direction, (one) => has(state.trace.peek(), one, flag));
    if (row >= 0) state.select(row);
  };
  useKeys(
    "Trace",
    [
      key("j", "Next span", () => walk(state, 1, handle.current)),
      key("k", "Previous span", () => walk(state, -1, handle.current)),
      key("f", "Next span that runs in the window", () => walkInSight(state, 1, handle.current)),
      key("b", "Previous span that runs in the window", () => walkInSight(state, -1, handle.current)),
      key("PageDown", "A page of spans on", () =>
        walk(state, handle.current?.rowsInSight ?? 20, handle.current),
      ),
      key("PageUp", "A page of spans back", () =>
        walk(state, -(handle.current?.rowsInSight ?? 20), handle.current),
      ),
      key("Enter", "Details of the span, or not", () => toggleDetails(state, handle.current)),
      key("z", "Fold or unfold the span", () => {
        const row = state.selected.peek();
        if (row >= 0) state.fold((rows) => rows.toggle(row));
      }),
      key("a", "Earlier", move(-STEP)),
      key("d", "Later", move(STEP)),
      key("ArrowLeft", "Earlier", move(-STEP)),
      key("ArrowRight", "Later", move(STEP)),
      key("A", "Earlier, in larger steps", move(-LARGE_STEP)),
      key("D", "Later, in larger steps", move(LARGE_STEP)),
      key("shift+ArrowLeft", "Earlier, in larger steps", move(-LARGE_STEP)),
      key("shift+ArrowRight", "Later, in larger steps", move(LARGE_STEP)),
      key("ArrowUp", "Zoom in", scale(CLOSER)),
      key("ArrowDown", "Zoom out", scale(1 / CLOSER)),
      key("w", "Zoom in", scale(CLOSER)),
      key("s", "Zoom out", scale(1 / CLOSER)),
      key("shift+ArrowUp", "Zoom in, in larger steps", scale(CLOSER ** 4)),
      key("shift+ArrowDown", "Zoom out, in larger steps", scale(CLOSER ** -4)),
      key("[", "Unfold all", () => state.fold((rows) => rows.foldAll(false))),
      key("]", "Fold all", () => state.fold((rows) => rows.foldAll(true))),
      key("o", "Unfold one level", () => state.fold((rows) => rows.foldLevel(false))),
      key("p", "Fold one level", () => state.fold((rows) => rows.foldLevel(true))),
      key("ctrl+b", "Find in this trace", () => document.getElementById(FIND_INPUT)?.focus()),
      key("n", "Next match", () => stepMatch(state, 1)),
      key("N", "Previous match", () => stepMatch(state, -1)),
      key("e", "Next error", jump(1, FLAG.error)),
      key("E", "Previous error", jump(-1, FLAG.error)),
      key("c", "Critical path", () =>
        setParams({ critical: state.showsCritical.peek() ? "0" : null }, { replace: true }),
      ),
      key("x", "Only what is below the span, or all", () => isolate(state)),
      key("m", "Mark for comparison, or compare", () => markOrCompare(id, state.trace.peek())),
      key("Escape", "Close, clear, show all", () => clear(state)),
      ...VIEWS.map((view, at) =>
        key(String(at + 1), `View: ${LABELS[view]}`, () => view !== currentView() && setView(view)),
      ),
    ],
    [state, id],
  );
}
