/** All spans as a table, in any order. Rows are numbers until they are in sight, so a million of them sort. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { param, setParams } from "../../frame/router";
import { Scroller } from "../../ui/canvas/scroller";
import { offset } from "../../ui/canvas/ticks";
import { colorOf } from "../../ui/colors";
import { duration } from "../../ui/format";
import { Icon } from "../../ui/icon";
import { FLAG, has, hostOf, kindName, nameOf, serviceOf, spanId, type Trace } from "./columns";
import type { Rows } from "./rows";
import type { TraceState } from "./state";

const ROW = 26;
const OVERSCAN = 6;

interface SpanColumn {
  id: string;
  title: string;
  isRight?: boolean;
  /** What rows are sorted by. */
  value: (trace: Trace, row: number) => number;
  text: (trace: Trace, row: number) => string;
}

const { compare } = new Intl.Collator();

/** Texts are sorted by their place among all texts, which is found once, and not before somebody sorts by it. */
function ranks(texts: readonly string[]): (at: number) => number {
  let rank: Uint32Array | undefined;
  return (at) => {
    if (!rank) {
      const order = texts.map((_, one) => one).sort((a, b) => compare(texts[a]!, texts[b]!));
      const made = new Uint32Array(texts.length);
      order.forEach((one, place) => {
        made[one] = place;
      });
      rank = made;
    }
    return rank[at] ?? -1;
  };
}

function columnsOf(trace: Trace): SpanColumn[] {
  const { header } = trace;
  const names = ranks(header.names);
  const services = ranks(header.services.map(({ name }) => name));
  const hosts = ranks(header.hosts);
  const nanos = (id: "duration" | "self" | "critical" | "slack", title: string): SpanColumn => ({
    id,
    title,
    isRight: true,
    value: (_, row) => trace[id][row]!,
    text: (_, row) => duration(trace[id][row]!),
  });
  return [
    { id: "service", title: "Service", value: (_, row) => services(trace.service[row]!), text: serviceOf },
    { id: "name", title: "Name", value: (_, row) => names(trace.name[row]!), text: nameOf },
    {
      id: "start",
      title: "Start",
      isRight: true,
      value: (_, row) => trace.start[row]!,
      text: (_, row) => offset(trace.start[row]!, Math.max(1, header.durationNanos / 1e6)),
    },
    nanos("duration", "Duration"),
    nanos("self", "Self"),
    nanos("critical", "Critical"),
    nanos("slack", "Slack"),
    {
      id: "kind",
      title: "Kind",
      value: (_, row) => trace.kind[row]!,
      text: (_, row) => kindName(trace.kind[row]!),
    },
    {
      id: "status",
      title: "Status",
      value: (_, row) => trace.status[row]!,
      text: (_, row) => ["", "ok", "✖ error"][trace.status[row]!] ?? "",
    },
    {
      id: "host",
      title: "Host",
      value: (_, row) => hosts(header.resources[trace.resource[row]!]?.host ?? -1),
      text: (_, row) => hostOf(trace, row) ?? "",
    },
    {
      id: "events",
      title: "Events",
      isRight: true,
      value: (_, row) => trace.events[row]!,
      text: (_, row) => String(trace.events[row]!),
    },
    { id: "id", title: "Span id", value: (_, row) => row, text: spanId },
  ];
}

/** The rows shown, sorted by a column. */
export function sortRows(
  rows: Rows,
  value: ((row: number) => number) | undefined,
  descending: boolean,
): Uint32Array {
  const order = new Uint32Array(rows.count);
  for (let at = 0; at < rows.count; at += 1) order[at] = rows.at(at);
  if (!value) return order;
  const keys = new Float64Array(rows.trace.spans);
  for (const row of order) keys[row] = value(row);
  const sign = descending ? -1 : 1;
  return order.sort((a, b) => sign * (keys[a]! - keys[b]!) || a - b);
}

/** The place that a key leads to from another, as in all tables; `undefined` for other keys. */
export function stepOf(key: string, at: number, length: number, page: number): number | undefined {
  const steps: Record<string, number> = {
    ArrowDown: 1,
    ArrowUp: -1,
    PageDown: page,
    PageUp: -page,
    Home: -length,
    End: length,
  };
  const step = steps[key];
  return step === undefined || length === 0 ? undefined : Math.max(0, Math.min(length - 1, at + step));
}

export function TableView({ state }: { state: TraceState }) {
  const trace = state.trace.value;
  const columns = useMemo(() => columnsOf(trace), [trace]);
  const [sortedBy, direction] = (param("sort") ?? "").split(":");
  const column = columns.find(({ id }) => id === sortedBy);
  const changes = state.changes.value;
  const order = useMemo(
    () => sortRows(state.rows.peek(), column && ((row) => column.value(trace, row)), direction !== "asc"),
    [trace, changes, sortedBy, direction],
  );
  const scroll = useRef<HTMLDivElement>(null);
  const space = useRef<HTMLDivElement>(null);
  const scroller = useRef<Scroller | undefined>(undefined);
  const [view, setView] = useState({ top: 0, height: 600 });
  useEffect(() => {
    const made = new Scroller(scroll.current!, space.current!, () =>
      setView({ top: made.top, height: made.height }),
    );
    scroller.current = made;
    const observer = new ResizeObserver(() => setView({ top: made.top, height: made.height }));
    observer.observe(scroll.current!);
    return () => {
      observer.disconnect();
      made.close();
    };
  }, []);
  useEffect(() => scroller.current?.setTotal(order.length * ROW), [order]);
  const selected = state.selected.value;
  useEffect(() => {
    const at = selected < 0 ? -1 : order.indexOf(selected);
    if (at >= 0) scroller.current?.show(at * ROW, (at + 1) * ROW);
  }, [order, selected]);
  const walk = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const page = Math.max(1, Math.floor(view.height / ROW) - 1);
    // Without a span that is looked at, the first step is to the first row.
    const next = stepOf(event.key, selected < 0 ? -1 : order.indexOf(selected), order.length, page);
    if (next === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    state.select(order[next]!);
  };
  const first = Math.max(0, Math.floor(view.top / ROW) - OVERSCAN);
  const shown = order.subarray(first, Math.ceil((view.top + view.height) / ROW) + OVERSCAN);
  const sort = (id: string) => {
    const isSame = id === column?.id;
    setParams({ sort: isSame && direction !== "asc" ? `${id}:asc` : id }, { replace: true });
  };
  return (
    <div class="span-table" role="grid" aria-label="Spans" aria-rowcount={order.length + 1}>
      <div class="span-table-line span-table-head" role="row">
        {columns.map(({ id, title, isRight }) => (
          <div
            key={id}
            role="columnheader"
            class={isRight ? "cell cell-right" : "cell"}
            aria-sort={id === column?.id ? (direction === "asc" ? "ascending" : "descending") : undefined}
          >
            <button type="button" class="table-sort" onClick={() => sort(id)}>
              {title}
              {id === column?.id && <Icon name={direction === "asc" ? "up" : "down"} size={12} />}
            </button>
          </div>
        ))}
      </div>
      <div
        class="span-table-body"
        ref={scroll}
        tabIndex={0}
        role="rowgroup"
        aria-label="Spans"
        onKeyDown={walk}
      >
        <div ref={space} class="span-table-space">
          <div class="span-table-view">
            {Array.from(shown, (row, at) => (
              <div
                key={row}
                role="row"
                tabIndex={-1}
                aria-rowindex={first + at + 2}
                aria-selected={row === selected}
                class={has(trace, row, FLAG.error) ? "span-table-line span-table-error" : "span-table-line"}
                style={{ transform: `translateY(${(first + at) * ROW - view.top}px)` }}
                onClick={() => state.select(row)}
              >
                {columns.map(({ id, isRight, text }) => (
                  <div key={id} role="gridcell" class={isRight ? "cell cell-right" : "cell"}>
                    {id === "service" && (
                      <span class="swatch" style={{ background: colorOf(serviceOf(trace, row)) }} />
                    )}{" "}
                    {text(trace, row).slice(0, 200)}
                  </div>
                ))}
              </div>
            ))}
          </div>
        </div>
      </div>
    </div>
  );
}
