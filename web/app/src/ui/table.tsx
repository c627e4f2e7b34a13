/**
 * A table of any length: rows are of one height, and only those in sight are in the document. Sorted by
 * clicks on its head, walked by arrows; a row that leads somewhere is opened by Enter.
 */
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Icon } from "./icon";

export interface Column<Row> {
  id: string;
  title: ComponentChildren;
  /** A width of CSS grid: `120px`, `minmax(120px, 1fr)`. */
  width?: string;
  align?: "left" | "right";
  render: (row: Row, index: number) => ComponentChildren;
  /** What rows are sorted by; without it they are not. */
  value?: (row: Row) => number | string | undefined;
}

export interface Sorting {
  column: string;
  descending: boolean;
}

interface TableProps<Row> {
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  /** What it shows, for those who cannot see it. */
  label: string;
  rowKey: (row: Row, index: number) => string | number;
  /** Its height; without it, as high as its rows, up to 70 % of the window. */
  height?: number | string;
  rowHeight?: number;
  sorting?: Sorting;
  /** If sorting is somebody else's, such as the address's. */
  onSort?: (sorting: Sorting) => void;
  onOpen?: (row: Row, event: Event) => void;
  isSelected?: (row: Row) => boolean;
  rowClass?: (row: Row) => string | undefined;
  /** The columns of a row that has others than the table's: one of what is within another row. */
  columnsOf?: (row: Row) => readonly Column<Row>[] | undefined;
}

const OVERSCAN = 8;

export function Table<Row>(props: TableProps<Row>) {
  const { columns, rows, label, rowKey, rowHeight = 28, onOpen, isSelected, rowClass } = props;
  const [own, setOwn] = useState<Sorting | undefined>(props.sorting);
  const sorting = props.onSort ? props.sorting : own;
  const sorted = useMemo(
    () => sortedRows(rows, columns, sorting),
    [rows, columns, sorting?.column, sorting?.descending],
  );
  const [view, setView] = useState({ top: 0, height: 600 });
  const [focused, setFocused] = useState(0);
  const body = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = body.current!;
    const measure = () => setView({ top: element.scrollTop, height: element.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener("scroll", measure, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", measure);
    };
  }, []);
  const first = Math.max(0, Math.floor(view.top / rowHeight) - OVERSCAN);
  const last = Math.min(sorted.length, Math.ceil((view.top + view.height) / rowHeight) + OVERSCAN);
  const template = templateOf(columns);
  const pick = (column: Column<Row>) => {
    if (!column.value) return;
    const descending = sorting?.column === column.id ? !sorting.descending : true;
    const next = { column: column.id, descending };
    if (props.onSort) props.onSort(next);
    else setOwn(next);
  };
  const walk = (event: KeyboardEvent) => {
    // Fields in cells have these keys for themselves.
    if (/^(?:INPUT|SELECT|TEXTAREA)$/.test((event.target as Element).tagName)) return;
    const row = sorted[focused];
    if (event.key === "Enter" && row && onOpen && event.target === body.current) {
      event.preventDefault();
      onOpen(row, event);
      return;
    }
    const page = Math.max(1, Math.floor(view.height / rowHeight) - 1);
    const steps: Record<string, number> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -sorted.length,
      End: sorted.length,
    };
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const next = Math.max(0, Math.min(sorted.length - 1, focused + step));
    setFocused(next);
    const element = body.current!;
    if (next * rowHeight < element.scrollTop) element.scrollTop = next * rowHeight;
    const bottom = (next + 1) * rowHeight - element.clientHeight;
    if (bottom > element.scrollTop) element.scrollTop = bottom;
  };
  return (
    <div class="table" role="grid" aria-label={label} aria-rowcount={sorted.length + 1}>
      <div class="table-head" role="row" style={{ gridTemplateColumns: template }}>
        {columns.map((column) => {
          const isSorted = sorting?.column === column.id;
          return (
            <div
              key={column.id}
              role="columnheader"
              class={`cell cell-${column.align ?? "left"}`}
              aria-sort={isSorted ? (sorting.descending ? "descending" : "ascending") : undefined}
            >
              {column.value ? (
                <button type="button" class="table-sort" onClick={() => pick(column)}>
                  {column.title}
                  {isSorted && <Icon name={sorting.descending ? "down" : "up"} size={12} />}
                </button>
              ) : (
                column.title
              )}
            </div>
          );
        })}
      </div>
      <div
        class="table-body"
        ref={body}
        tabIndex={0}
        role="rowgroup"
        aria-label={label}
        style={{ height: props.height, maxHeight: props.height ? undefined : "70vh" }}
        onKeyDown={walk}
      >
        <div class="table-space" style={{ height: sorted.length * rowHeight }}>
          {sorted.slice(first, last).map((row, offset) => {
            const index = first + offset;
            const classes = ["table-row", rowClass?.(row), index === focused ? "table-focused" : ""];
            const own = props.columnsOf?.(row);
            return (
              <div
                key={rowKey(row, index)}
                role="row"
                aria-rowindex={index + 2}
                aria-selected={isSelected?.(row)}
                class={classes.filter(Boolean).join(" ")}
                tabIndex={-1}
                style={{
                  gridTemplateColumns: own ? templateOf(own) : template,
                  top: index * rowHeight,
                  height: rowHeight,
                }}
                // Before the click: to draw again between it and its change would undo a box's tick.
                onPointerDown={() => setFocused(index)}
                onClick={(event) => {
                  if (!(event.target as Element).closest("a, button, input")) onOpen?.(row, event);
                }}
              >
                {(own ?? columns).map((column) => (
                  <div key={column.id} role="gridcell" class={`cell cell-${column.align ?? "left"}`}>
                    {column.render(row, index)}
                  </div>
                ))}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

function templateOf<Row>(columns: readonly Column<Row>[]): string {
  return columns.map(({ width }) => width ?? "minmax(80px, 1fr)").join(" ");
}

/** Rows in the order of a column; those that are equal stay as they were. */
export function sortedRows<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  sorting?: Sorting,
): readonly Row[] {
  const value = columns.find(({ id }) => id === sorting?.column)?.value;
  if (!value || !sorting) return rows;
  const sign = sorting.descending ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [left, right] = [value(a), value(b)];
    const [noLeft, noRight] = [isNothing(left), isNothing(right)];
    // What has no value is last in either order.
    if (noLeft || noRight) return Number(noLeft) - Number(noRight);
    return left! < right! ? -sign : left! > right! ? sign : 0;
  });
}

function isNothing(value: number | string | undefined): boolean {
  return value === undefined || Number.isNaN(value);
}
