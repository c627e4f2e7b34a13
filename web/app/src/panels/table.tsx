/** A table of a frame: columns with kinds of cells, sorted and filtered, in pages if asked for. */
import { useMemo } from "preact/hooks";
import { theme } from "../frame/theme";
import { Button } from "../ui/button";
import { SelectField } from "../ui/field";
import { Icon } from "../ui/icon";
import { type Column, Table } from "../ui/table";
import { units } from "../ui/units";
import { rowFill, TableCell } from "./cell";
import { display } from "./display";
import { columnsOf, useFolds } from "./folds";
import { customOf, type Field, type Frame, nameOf, option, part, rowsOf } from "./frame";
import type { PanelProps } from "./kinds";
import { FOLD_PIXELS, type Item, itemsOf } from "./nested";
import { NoData } from "./nodata";
import { useRemembered } from "./remembered";
import { alignOf, Filters, Footer, footerOf, roomOf, sideOf } from "./tableparts";
import { arrange, givenSorting, rowTexts, type Sorting } from "./tablerows";
import { columnWidths, leastWidth } from "./tablewidths";
import { zone } from "./zone";

export function TablePanel(props: PanelProps) {
  const { frames, panel } = props;
  const first = option(panel.options, "frameIndex", 0);
  const [chosen, setChosen] = useRemembered<number | undefined>("result", () => undefined);
  const at = Math.min(chosen ?? first, frames.length - 1);
  const frame = frames[at];
  const isEmpty = frames.every((one) => rowsOf(one) === 0);
  if (!frame || frame.fields.length === 0 || isEmpty) return <NoData frames={frames} />;
  const names = frames.map(
    (one, index) => [String(index), one.name || one.refId || `Result ${index + 1}`] as const,
  );
  return (
    <div class="table-panel">
      <FrameTable
        key={at}
        {...props}
        frame={frame}
        at={at}
        height={props.height - (frames.length > 1 ? 34 : 0)}
      />
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

interface FrameTableProps extends PanelProps {
  frame: Frame;
  /** Its place among the frames. */
  at: number;
}

function FrameTable({ frame, at, panel, width, height }: FrameTableProps) {
  const [sorting, setSorting] = useRemembered<readonly Sorting[]>(`sorting ${at}`, () =>
    givenSorting(panel.options),
  );
  const [filters, setFilters] = useRemembered<Record<string, string>>(`filters ${at}`, () => ({}));
  const [open, setOpen] = useRemembered<string | undefined>(`open filter ${at}`, () => undefined);
  const [page, setPage] = useRemembered(`page ${at}`, () => 0);
  const [fields, nested] = useMemo(() => columnsOf(frame), [frame]);
  const folds = useFolds(frame, at, nested, width);
  const shows = useMemo(() => fields.map(display), [fields, units.value, theme.value, zone.value]);
  const textAt = useMemo(rowTexts, [fields, units.value, zone.value]);
  const rows = useMemo(
    () => arrange(frame, fields, sorting, filters, textAt),
    [frame, fields, sorting, filters, textAt],
  );
  const widths = useMemo(() => columnWidths(frame, fields, width), [fields, width, units.value, zone.value]);
  const rowHeight = { sm: 28, md: 34, lg: 44 }[option(panel.options, "cellHeight", "sm")] ?? 28;
  const isFiltering = open !== undefined || Object.keys(filters).length > 0;
  const footer = footerOf(panel.options, fields);
  const { hasHead, bodyHeight } = roomOf(panel.options, height, isFiltering, footer !== undefined);
  const isPaged =
    option(panel.options, "enablePagination", false) ||
    option(part(panel.options, "footer"), "enablePagination", false);
  const pageSize = Math.max(1, Math.floor((bodyHeight - 34) / rowHeight));
  const lastPage = Math.max(0, Math.ceil(rows.length / pageSize) - 1);
  const current = Math.min(page, lastPage);
  const shown = isPaged ? rows.slice(current * pageSize, (current + 1) * pageSize) : rows;
  const items = itemsOf(shown, folds.isOpen, folds.tables);
  const fillOf = rowFill(fields, shows);
  const columns: Column<Item>[] = fields.map((field, index) => ({
    id: String(index),
    width: widths[index]!.css,
    align: sideOf(field),
    title: !hasHead ? (
      nameOf(field)
    ) : (
      <Head
        field={field}
        sorting={sorting.find(({ name }) => name === nameOf(field))}
        isFiltered={nameOf(field) in filters}
        onSort={(isDescending) => setSorting([{ name: nameOf(field), isDescending }])}
        onFilter={isFilterable(field) ? () => setOpen(nameOf(field)) : undefined}
      />
    ),
    render: ({ row }) => (
      <TableCell
        field={field}
        row={row}
        show={shows[index]!}
        width={widths[index]!.pixels}
        fill={fillOf?.(row)}
      />
    ),
  }));
  if (nested.length > 0) columns.unshift(folds.column(fields[0]));
  const template = columns.map((column) => column.width);
  const least = leastWidth(widths) + (nested.length > 0 ? FOLD_PIXELS : 0);
  return (
    <>
      {isFiltering && <Filters filters={filters} open={open} onChange={setFilters} onOpen={setOpen} />}
      <div class={hasHead ? "table-scroll" : "table-scroll table-headless"}>
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

interface HeadProps {
  field: Field;
  /** Its part in the order of the rows. */
  sorting: Sorting | undefined;
  isFiltered: boolean;
  onSort: (isDescending: boolean) => void;
  onFilter?: () => void;
}

function Head({ field, sorting, isFiltered, onSort, onFilter }: HeadProps) {
  const name = nameOf(field);
  return (
    <span class={alignOf(field) === "center" ? "table-panel-head cell-centered" : "table-panel-head"}>
      <button
        type="button"
        class="table-sort"
        onClick={() => onSort(!sorting?.isDescending)}
        title={field.config?.description ?? name}
      >
        <span class="ellipsis">{name}</span>
        {sorting && <span class="hidden">, {sorting.isDescending ? "sorted down" : "sorted up"}</span>}
        {sorting && <Icon name={sorting.isDescending ? "down" : "up"} size={12} />}
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
