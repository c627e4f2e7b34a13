/** One cell of a table panel, by the kind that its column asks for. */
import type { JSX } from "preact";
import { faded } from "../ui/shades";
import { Spark } from "../ui/spark";
import { legible, textOn } from "./colors";
import { type Shown, whole } from "./display";
import {
  type Cell,
  customOf,
  type Field,
  framesIn,
  isFrame,
  isTrend,
  numberOf,
  option,
  part,
  textOf,
} from "./frame";
import { Linked } from "./linked";
import { linksOf } from "./links";
import { alignOf } from "./tableparts";

/** The kind of a column's cells, with those that older dashboards call otherwise. */
export function cellKind(field: Field): { type: string; mode: string } {
  const custom = customOf(field);
  const options = part(custom, "cellOptions");
  const type = option(options, "type", "") || option(custom, "displayMode", "auto");
  const mode = option(options, "mode", "");
  switch (type) {
    case "color-background-solid":
      return { type: "color-background", mode: "basic" };
    case "lcd-gauge":
      return { type: "gauge", mode: "lcd" };
    case "gradient-gauge":
      return { type: "gauge", mode: "gradient" };
    case "basic":
      return { type: "gauge", mode: "basic" };
    case "json-view":
      return { type: "json", mode };
    default:
      return { type, mode };
  }
}

interface TableCellProps {
  field: Field;
  row: number;
  show: (cell: Cell) => Shown;
  width: number;
  /** What a column gives all cells of its row. */
  fill?: JSX.CSSProperties;
}

export function TableCell({ fill, ...props }: TableCellProps) {
  const { field, row } = props;
  const content = (
    <Linked links={linksOf(field, row)}>
      <Content {...props} />
    </Linked>
  );
  const classes = [alignOf(field) === "center" ? "cell-centered" : "", fill ? "cell-filled cell-of-row" : ""];
  const name = classes.filter(Boolean).join(" ");
  return name === "" ? (
    content
  ) : (
    <span class={name} style={fill}>
      {content}
    </span>
  );
}

/** The background of whole rows, where a column gives them its own. */
export function rowFill(
  fields: readonly Field[],
  shows: readonly ((cell: Cell) => Shown)[],
): ((row: number) => JSX.CSSProperties | undefined) | undefined {
  const at = fields.findIndex((field) => {
    const isFilled = cellKind(field).type === "color-background";
    return isFilled && option(part(customOf(field), "cellOptions"), "applyToRow", false);
  });
  const field = fields[at];
  if (!field) return undefined;
  const { type, mode } = cellKind(field);
  return (row) => cellStyle(type, mode, shows[at]!(field.values[row]));
}

function Content({ field, row, show, width }: TableCellProps) {
  const cell = field.values[row];
  const { type, mode } = cellKind(field);
  const shown = show(cell);
  if (type === "sparkline" || (isFrame(cell) && isTrend(cell))) {
    return <Sparkline cell={cell} shown={shown} width={width} />;
  }
  if (type === "gauge" && shown.number !== null) return <GaugeCell shown={shown} mode={mode} />;
  const holdsRows = framesIn(cell).length > 0;
  if (type === "json" || (cell !== null && typeof cell === "object" && type !== "auto" && !holdsRows)) {
    return (
      <code class="ellipsis" title={textOf(cell)}>
        {textOf(cell)}
      </code>
    );
  }
  if (type === "image" || type === "pill") {
    // Pictures from elsewhere are not loaded: the policy of the page forbids it.
    return <span class={type === "pill" ? "badge" : ""}>{whole(shown)}</span>;
  }
  return (
    <span
      class={type === "color-background" ? "cell-filled" : ""}
      style={cellStyle(type, mode, shown)}
      title={whole(shown)}
    >
      {whole(shown)}
    </span>
  );
}

function cellStyle(type: string, mode: string, shown: Shown): JSX.CSSProperties | undefined {
  if (type === "color-text") return { color: legible(shown.color), fontWeight: 600 };
  if (type !== "color-background" || shown.color === "transparent") return undefined;
  const background =
    mode === "gradient" ? `linear-gradient(120deg, ${faded(shown.color, 0.8)}, ${shown.color})` : shown.color;
  return { background, color: textOn(shown.color) };
}

function GaugeCell({ shown, mode }: { shown: Shown; mode: string }) {
  const fill =
    mode === "lcd"
      ? `repeating-linear-gradient(to right, ${shown.color} 0 3px, transparent 3px 4px)`
      : mode === "gradient"
        ? `linear-gradient(to right, ${faded(shown.color, 0.35)}, ${shown.color})`
        : faded(shown.color, 0.75);
  return (
    <span class="cell-gauge">
      <span class="cell-gauge-track">
        <span class="cell-gauge-fill" style={{ width: `${shown.share * 100}%`, background: fill }} />
      </span>
      <span class="cell-gauge-value" style={{ color: legible(shown.color) }}>
        {whole(shown)}
      </span>
    </span>
  );
}

function Sparkline({ cell, shown, width }: { cell: Cell; shown: Shown; width: number }) {
  const field = isFrame(cell) ? cell.fields.find(({ type }) => type === "number") : undefined;
  const values = field?.values ?? (Array.isArray(cell) ? (cell as Cell[]) : undefined);
  if (!values) return <span>{whole(shown)}</span>;
  return (
    <Spark
      values={values.map(numberOf)}
      label="Course"
      width={Math.max(40, width - 20)}
      height={20}
      color={shown.color}
    />
  );
}
