/** How often values lay where, over time: darker cells hold more. */
import { useMemo } from "preact/hooks";
import { highest } from "../ui/ends";
import { count } from "../ui/format";
import { formatWith, units } from "../ui/units";
import { Canvas } from "./canvas";
import { whole } from "./display";
import { withoutExemplars } from "./exemplars";
import { option, part } from "./frame";
import { type HeatCells, type HeatRow, heatCells } from "./heatcells";
import { heatPaint } from "./heatcolors";
import { drawCells, type HeatDrawing, heatRoom } from "./heatdraw";
import { HoverBox, placeOf, useHover } from "./hover";
import type { PanelProps } from "./kinds";
import { type Link, linksOf } from "./links";
import { NoData } from "./nodata";
import { clockOf, zone, zonedFull } from "./zone";

export function Heatmap({ panel, frames, width, height, range, onZoom }: PanelProps) {
  const { options } = panel;
  const cells = useMemo(() => heatCells(withoutExemplars(frames), options), [frames, options]);
  const { hovered, enter, leave, keep } = useHover();
  if (!cells || cells.rows.length === 0) return <NoData frames={frames} />;
  const format = boundFormat(cells, options);
  const names = cells.rows.map((row) => nameOfRow(row, cells, format));
  const left =
    highest(
      names.map(({ length }) => length),
      0,
    ) *
      6.4 +
    12;
  const { showsLegend, canvasHeight } = heatRoom(options, height);
  const area = { left, top: 4, width: width - left - 8, height: canvasHeight - 24 };
  const paint = heatPaint(cells, options);
  const say = valueFormat(options);
  const drawing: HeatDrawing = {
    cells,
    area,
    range,
    names,
    paint,
    isReversed: option(part(options, "yAxis"), "reverse", false),
    showValue: option(options, "showValue", "never"),
    say,
  };
  const at = (x: number, y: number) => {
    const time = range.from + ((x - area.left) / area.width) * (range.to - range.from);
    const column = cells.times.findLastIndex((start) => start <= time);
    const place = Math.floor(((y - area.top) / area.height) * cells.rows.length);
    const row = drawing.isReversed ? place : cells.rows.length - 1 - place;
    const isThere =
      column >= 0 && time < cells.times[column]! + cells.stepMillis * 1.01 && cells.rows[row] !== undefined;
    return isThere ? { column, row } : undefined;
  };
  const said = ({ row, column }: { row: number; column: number }) => {
    const { from, to } = cells.rows[row]!;
    const bounds =
      cells.layout === "unknown" ? names[row]! : `${boundText(from, format)} – ${boundText(to, format)}`;
    const value = cells.values[row]![column];
    const isThere = typeof value === "number";
    const rows = [
      { label: bounds, value: isThere ? say(value) : "–", color: isThere ? paint.of(value) : undefined },
    ];
    return [zonedFull(cells.times[column]!), rows] as const;
  };
  return (
    <div class="heatmap">
      <Canvas
        width={width}
        height={Math.max(40, canvasHeight)}
        label={`${panel.title}. Heat map of ${cells.rows.length} rows over time; the fullest cell holds ${say(paint.high)}.`}
        about={[cells, options, zone.value, range.from, range.to, names.join("\u0001")]}
        draw={(context) => drawCells(context, drawing)}
        onLeave={leave}
        onMove={(event, x, y) => {
          const found = at(x, y);
          if (!found) return leave();
          enter(event, ...said(found));
        }}
        onClick={(event, x, y) => {
          const found = at(x, y);
          if (!found) return;
          const time = cells.times[found.column]!;
          // What leads somewhere is not looked at closer by a click.
          if (!keep(placeOf(event), ...said(found), linksAt(cells, found.row, time)))
            onZoom?.(time - cells.stepMillis, time + 2 * cells.stepMillis);
        }}
      />
      {showsLegend && (
        <div class="heat-scale">
          <span>{say(paint.low)}</span>
          <span class="heat-bar" style={{ background: legendColors(paint) }} />
          <span>{say(paint.high)}</span>
        </div>
      )}
      <HoverBox of={hovered} />
    </div>
  );
}

function legendColors({ low, high, of }: ReturnType<typeof heatPaint>): string {
  const shares = [0, 0.25, 0.5, 0.75, 1];
  return `linear-gradient(to right, ${shares.map((share) => of(low + share * (high - low))).join(", ")})`;
}

function boundText(bound: number | undefined, format: (value: number) => string): string {
  if (bound === undefined) return "";
  return Number.isFinite(bound) ? format(bound) : bound > 0 ? "∞" : "-∞";
}

/** What stands beside a row: the bound that names it. */
function nameOfRow(row: HeatRow, { layout }: HeatCells, format: (value: number) => string): string {
  const bound = layout === "ge" ? row.from : row.to;
  if (layout === "unknown" || bound === undefined) return row.name;
  return Number.isFinite(bound) ? format(bound) : bound > 0 ? "+Inf" : "-Inf";
}

function boundFormat(cells: HeatCells, options: Record<string, unknown>): (value: number) => string {
  const axis = part(options, "yAxis");
  const format = formatWith(units.value, {
    unit: option(axis, "unit", "") || cells.field.config?.unit,
    decimals: typeof axis.decimals === "number" ? axis.decimals : undefined,
    kind: "number",
    isTick: true,
    clock: clockOf(),
  });
  return (value) => whole(format(value));
}

/** How what is in a cell is written. */
function valueFormat(options: Record<string, unknown>): (value: number) => string {
  const { unit, decimals } = part(options, "cellValues");
  if (typeof unit !== "string" && typeof decimals !== "number") return count;
  const format = formatWith(units.value, {
    unit: typeof unit === "string" ? unit : undefined,
    decimals: typeof decimals === "number" ? decimals : undefined,
    kind: "number",
  });
  return (value) => whole(format(value));
}

/** The links of a cell that is a value of a series, and not counted of several. */
function linksAt({ rows }: HeatCells, row: number, time: number): Link[] {
  const source = rows[row]?.source;
  const at = source?.time.values.indexOf(time) ?? -1;
  return source && at >= 0 ? linksOf(source.field, at) : [];
}
