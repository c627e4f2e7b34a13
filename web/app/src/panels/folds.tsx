/** What of a table is folded out, and the columns of the tables within. */
import { useMemo } from "preact/hooks";
import { theme } from "../frame/theme";
import { highest } from "../ui/ends";
import type { Column } from "../ui/table";
import { units } from "../ui/units";
import { TableCell } from "./cell";
import { display } from "./display";
import { type Field, type Frame, nameOf } from "./frame";
import { expandsAll, FOLD_PIXELS, Fold, HEADING, holdsTables, type Item, rowKeys, tablesOf } from "./nested";
import { useRemembered } from "./remembered";
import { sideOf } from "./tableparts";
import { columnWidths, isHidden, leastWidth } from "./tablewidths";
import { zone } from "./zone";

/** The columns that are shown as such, and those whose tables fold out. */
export function columnsOf(frame: Frame): [fields: Field[], nested: Field[]] {
  const seen = frame.fields.filter((field) => !isHidden(field));
  return [seen.filter((field) => !holdsTables(field)), seen.filter(holdsTables)];
}

/** The columns of a table within, as they are drawn. */
interface Inner {
  rows: Column<Item>[];
  heads: Column<Item>[];
  least: number;
}

/** What is folded out of a table, which stands at a place among others, and how it is drawn. */
export function useFolds(frame: Frame, place: number, nested: readonly Field[], width: number) {
  const [turned, setTurned] = useRemembered<ReadonlySet<string>>(`turned ${place}`, () => new Set());
  const isAll = expandsAll(frame);
  // A refresh brings the same rows in other places.
  const keys = useMemo(() => rowKeys(frame), [frame]);
  const isOpen = (row: number) => turned.has(keys[row]!) !== isAll;
  const toggle = (row: number) => {
    const next = new Set(turned);
    if (!next.delete(keys[row]!)) next.add(keys[row]!);
    setTurned(next);
  };
  const tables = useMemo(() => {
    const known = new Map<number, Frame[]>();
    return (row: number) => {
      const found = known.get(row) ?? tablesOf(nested, row);
      known.set(row, found);
      return found;
    };
  }, [nested]);
  const innerOf = useMemo(() => {
    const known = new Map<Frame, Inner>();
    return (inner: Frame) => {
      const found = known.get(inner) ?? innerColumns(inner, width - FOLD_PIXELS);
      known.set(inner, found);
      return found;
    };
  }, [nested, width, units.value, theme.value, zone.value]);
  return {
    isOpen,
    tables,
    column: (first: Field | undefined): Column<Item> => ({
      id: "fold",
      width: `${FOLD_PIXELS}px`,
      title: <span class="hidden">Rows within</span>,
      render: ({ row }) =>
        tables(row).length > 0 && (
          <Fold of={first} row={row} isOpen={isOpen(row)} onToggle={() => toggle(row)} />
        ),
    }),
    columnsOf: ({ inner, at }: Item) =>
      inner && (at === HEADING ? innerOf(inner).heads : innerOf(inner).rows),
    leastWidth: (items: readonly Item[]) => {
      const shown = new Set(items.flatMap(({ inner }) => inner ?? []));
      return highest(
        [...shown].map((inner) => innerOf(inner).least),
        0,
      );
    },
  };
}

function innerColumns(inner: Frame, width: number): Inner {
  const fields = inner.fields.filter((field) => !isHidden(field));
  const widths = columnWidths(inner, fields, width);
  const indent: Column<Item> = { id: "fold", title: "", width: `${FOLD_PIXELS}px`, render: () => null };
  const columns = (render: (field: Field, index: number) => Column<Item>["render"]): Column<Item>[] => [
    indent,
    ...fields.map((field, index) => ({
      id: String(index),
      title: nameOf(field),
      width: widths[index]!.css,
      align: sideOf(field),
      render: render(field, index),
    })),
  ];
  const shows = fields.map(display);
  return {
    heads: columns((field) => () => <b class="ellipsis">{nameOf(field)}</b>),
    rows: columns((field, index) => ({ at }) => (
      <TableCell field={field} row={at} show={shows[index]!} width={widths[index]!.pixels} />
    )),
    least: leastWidth(widths) + FOLD_PIXELS,
  };
}
