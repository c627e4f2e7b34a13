/** A table of a frame: columns with kinds of cells, sorted and filtered, in pages if asked for. */
import { useMemo, useState } from "preact/hooks";
import { theme } from "../frame/theme";
import { Button } from "../ui/button";
import { SelectField } from "../ui/field";
import { Icon } from "../ui/icon";
import { type Column, Table } from "../ui/table";
import { units } from "../ui/units";
import { TableCell } from "./cell";
import { display, whole } from "./display";
import { columnsOf, useFolds } from "./folds";
import { type Cell, customOf, type Field, type Frame, nameOf, option, part, rowsOf, textOf } from "./frame";
import type { PanelProps } from "./kinds";
import { FOLD_PIXELS, type Item, itemsOf } from "./nested";
import { NoData } from "./nodata";
import { alignOf, Filters, Footer, footerOf } from "./tableparts";
import { columnWidths, leastWidth } from "./tablewidths";
import { zone } from "./zone";

export function TablePanel(props: PanelProps) {
  const { frames, panel } = props;
  const first = option(panel.options, "frameIndex", 0);
  const [chosen, setChosen] = useState<number | undefined>(undefined);
  const at = Math.min(chosen ?? first, frames.length - 1);
  const frame = frames[at];
  const isEmpty = frames.every((one) => rowsOf(one) === 0);
  if (!frame || frame.fields.length === 0 || isEmpty) return <NoData frames={frames} />;
  const names = frames.map(
    (one, index) => [String(index), one.name || one.refId || `Result ${index + 1}`] as const,
  );
  return (
    <div class="table-panel">
      <FrameTable key={at} {...props} frame={frame} height={props.height - (frames.length > 1 ? 34 : 0)} />
      {frames.length > 1 && (
        <SelectField
          label="Result"
          hideLabel
          value={String(at)}
          options={names}
          onChange={(value) => setChosen(Number(value))}
        />
      )}
    </div>
  );
}

interface Sorting {
  name: string;
  isDescending: boolean;
}

function FrameTable({ frame, panel, width, height }: PanelProps & { frame: Frame }) {
  const given = (Array.isArray(panel.options.sortBy) ? panel.options.sortBy[0] : undefined) as
    | { displayName?: string; desc?: boolean }
    | undefined;
  const [sorting, setSorting] = useState<Sorting | undefined>(
    given?.displayName ? { name: given.displayName, isDescending: given.desc === true } : undefined,
  );
  const [filters, setFilters] = useState<Record<string, string>>({});
  const [open, setOpen] = useState<string | undefined>(undefined);
  const [page, setPage] = useState(0);
  const [fields, nested] = useMemo(() => columnsOf(frame), [frame]);
  const folds = useFolds(frame, nested, width);
  const shows = useMemo(() => fields.map(display), [fields, units.value, theme.value, zone.value]);
  const rows = useMemo(() => arrange(frame, fields, sorting, filters), [frame, fields, sorting, filters]);
  const widths = useMemo(() => columnWidths(frame, fields, width), [fields, width, units.value, zone.value]);
  const rowHeight = { sm: 28, md: 34, lg: 44 }[option(panel.options, "cellHeight", "sm")] ?? 28;
  const isFiltering = open !== undefined || Object.keys(filters).length > 0;
  const footer = footerOf(panel.options, fields);
  const bodyHeight = height - 30 - (isFiltering ? 36 : 0) - (footer ? 28 : 0);
  const isPaged =
    option(panel.options, "enablePagination", false) ||
    option(part(panel.options, "footer"), "enablePagination", false);
  const pageSize = Math.max(1, Math.floor((bodyHeight - 34) / rowHeight));
  const lastPage = Math.max(0, Math.ceil(rows.length / pageSize) - 1);
  const current = Math.min(page, lastPage);
  const shown = isPaged ? rows.slice(current * pageSize, (current + 1) * pageSize) : rows;
  const items = itemsOf(shown, folds.isOpen, folds.tables);
  const columns: Column<Item>[] = fields.map((field, index) => ({
    id: String(index),
    width: widths[index]!.css,
    align: alignOf(field),
    title: (
      <Head
        field={field}
        sorting={sorting}
        isFiltered={nameOf(field) in filters}
        onSort={() =>
          setSorting({
            name: nameOf(field),
            isDescending: sorting?.name === nameOf(field) ? !sorting.isDescending : true,
          })
        }
        onFilter={isFilterable(field) ? () => setOpen(nameOf(field)) : undefined}
      />
    ),
    render: ({ row }) => (
      <TableCell field={field} row={row} show={shows[index]!} width={widths[index]!.pixels} />
    ),
  }));
  if (nested.length > 0) columns.unshift(folds.column(fields[0]));
  const template = columns.map((column) => column.width);
  const least = leastWidth(widths) + (nested.length > 0 ? FOLD_PIXELS : 0);
  return (
    <>
      {isFiltering && <Filters filters={filters} open={open} onChange={setFilters} onOpen={setOpen} />}
      <div class="table-scroll">
        <div style={{ minWidth: Math.max(least, folds.leastWidth(items)) + 14 }}>
          <Table
            label={panel.title || "Table"}
            columns={columns}
            columnsOf={folds.columnsOf}
            rows={items}
            // A row may hold several tables: places among what is folded out tell them apart.
            rowKey={({ row, inner }, index) => (inner ? `${row} ${index}` : row)}
            rowClass={({ inner }) => (inner ? "table-nested" : undefined)}
            rowHeight={rowHeight}
            height={Math.max(60, bodyHeight - (isPaged ? 34 : 0))}
          />
          {footer && (
            <Footer
              fields={fields}
              rows={rows}
              footer={footer}
              isIndented={nested.length > 0}
              template={template.join(" ")}
            />
          )}
        </div>
      </div>
      {isPaged && (
        <div class="row table-pages">
          <Button
            kind="quiet"
            icon="left"
            label="Page before"
            disabled={current === 0}
            onClick={() => setPage(current - 1)}
          />
          <span>
            {rows.length === 0 ? 0 : current * pageSize + 1} to{" "}
            {Math.min(rows.length, (current + 1) * pageSize)} of {rows.length}
          </span>
          <Button
            kind="quiet"
            icon="right"
            label="Next page"
            disabled={current >= lastPage}
            onClick={() => setPage(current + 1)}
          />
        </div>
      )}
    </>
  );
}

function isFilterable(field: Field): boolean {
  return field.config?.filterable === true || customOf(field).filterable === true;
}

/** Rows that pass the filters, in order. */
function arrange(
  frame: Frame,
  fields: readonly Field[],
  sorting: Sorting | undefined,
  filters: Record<string, string>,
): number[] {
  const wanted = fields.flatMap((field) => {
    const text = filters[nameOf(field)]?.toLowerCase();
    return text ? [{ field, show: display(field), text }] : [];
  });
  let rows = Array.from({ length: rowsOf(frame) }, (_, row) => row);
  if (wanted.length > 0) {
    rows = rows.filter((row) =>
      wanted.every(({ field, show, text }) => whole(show(field.values[row])).toLowerCase().includes(text)),
    );
  }
  const by = fields.find((field) => nameOf(field) === sorting?.name);
  return by && sorting
    ? rows.sort((a, b) => compare(by.values[a], by.values[b], sorting.isDescending ? -1 : 1))
    : rows;
}

function isValue(cell: Cell): boolean {
  return cell !== null && cell !== undefined && !Number.isNaN(cell);
}

/** What has no value is last in either order. */
export function compare(left: Cell, right: Cell, sign: number): number {
  const [isLeft, isRight] = [isValue(left), isValue(right)];
  if (!isLeft || !isRight) return Number(isRight) - Number(isLeft);
  if (typeof left === "number" && typeof right === "number") return sign * (left - right);
  return sign * textOf(left).localeCompare(textOf(right), undefined, { numeric: true });
}

interface HeadProps {
  field: Field;
  sorting?: Sorting;
  isFiltered: boolean;
  onSort: () => void;
  onFilter?: () => void;
}

function Head({ field, sorting, isFiltered, onSort, onFilter }: HeadProps) {
  const name = nameOf(field);
  const isSorted = sorting?.name === name;
  return (
    <span class="table-panel-head">
      <button type="button" class="table-sort" onClick={onSort} title={field.config?.description ?? name}>
        <span class="ellipsis">{name}</span>
        {isSorted && <span class="hidden">, {sorting.isDescending ? "sorted down" : "sorted up"}</span>}
        {isSorted && <Icon name={sorting.isDescending ? "down" : "up"} size={12} />}
      </button>
      {onFilter && (
        <button
          type="button"
          class="table-filter"
          aria-label={`Filter ${name}`}
          aria-pressed={isFiltered}
          onClick={onFilter}
        >
          <Icon name="filter" size={12} />
        </button>
      )}
    </span>
  );
}
