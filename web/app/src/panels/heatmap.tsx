/** How often values lay where, over time: darker cells hold more. */
import { useMemo } from "preact/hooks";
import { token } from "../frame/theme";
import { highest } from "../ui/ends";
import { count, fullTime } from "../ui/format";
import { formatWith, units } from "../ui/units";
import { Canvas } from "./canvas";
import { between, scaleOf } from "./colors";
import { whole } from "./display";
import { withoutExemplars } from "./exemplars";
import { option, part } from "./frame";
import { type HeatCells, heatCells } from "./heatcells";
import { HoverBox, placeOf, useHover } from "./hover";
import type { PanelProps } from "./kinds";
import { type Link, linksOf } from "./links";
import { NoData } from "./nodata";
import { drawTimes } from "./timescale";
import { inZone, zone } from "./zone";

export function Heatmap({ panel, frames, width, height, range, onZoom }: PanelProps) {
  const cells = useMemo(() => heatCells(withoutExemplars(frames), panel.options), [frames, panel.options]);
  const { hovered, enter, leave, keep } = useHover();
  if (!cells) return <NoData frames={frames} />;
  const format = boundFormat(cells, panel.options);
  const names = cells.rows.map((row) =>
    row.to === undefined ? row.name : row.to === Number.POSITIVE_INFINITY ? "+Inf" : format(row.to),
  );
  const left =
    highest(
      names.map(({ length }) => length),
      0,
    ) *
      6.4 +
    12;
  const area = { left, top: 4, width: width - left - 8, height: height - 44 };
  const most = greatest(cells);
  const stops = scaleOf(option(part(panel.options, "color"), "scheme", "Oranges"));
  const exponent = option(part(panel.options, "color"), "exponent", 0.5);
  const paint = (value: number) => between(stops, 0.12 + 0.88 * (value / (most || 1)) ** exponent);
  const at = (x: number, y: number) => {
    const time = range.from + ((x - area.left) / area.width) * (range.to - range.from);
    const column = cells.times.findLastIndex((start) => start <= time);
    const row = cells.rows.length - 1 - Math.floor(((y - area.top) / area.height) * cells.rows.length);
    const isThere =
      column >= 0 && time < cells.times[column]! + cells.stepMillis * 1.01 && cells.rows[row] !== undefined;
    return isThere ? { column, row } : undefined;
  };
  const said = ({ row, column }: { row: number; column: number }) => {
    const { from, to } = cells.rows[row]!;
    const bounds =
      to === undefined
        ? names[row]!
        : `${from === undefined ? "" : format(from)} – ${to === Number.POSITIVE_INFINITY ? "∞" : format(to)}`;
    const value = cells.values[row]![column];
    const isThere = typeof value === "number";
    const rows = [
      { label: bounds, value: isThere ? count(value) : "–", color: isThere ? paint(value) : undefined },
    ];
    return [fullTime(inZone(cells.times[column]!)), rows] as const;
  };
  return (
    <div class="heatmap">
      <Canvas
        width={width}
        height={Math.max(40, height - 20)}
        label={`${panel.title}. Heat map of ${cells.rows.length} rows over time; the fullest cell holds ${count(most)}.`}
        about={[cells, zone.value, range.from, range.to, names.join("\u0001")]}
        draw={(context) => draw(context, cells, area, range, names, paint)}
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
      <div class="heat-scale">
        <span>0</span>
        <span
          class="heat-bar"
          style={{
            background: `linear-gradient(to right, ${[0, 0.25, 0.5, 0.75, 1].map((share) => paint(share * most)).join(", ")})`,
          }}
        />
        <span>{count(most)}</span>
      </div>
      <HoverBox of={hovered} />
    </div>
  );
}

function boundFormat(cells: HeatCells, options: Record<string, unknown>): (value: number) => string {
  const axis = part(options, "yAxis");
  const format = formatWith(units.value, {
    unit: option(axis, "unit", "") || cells.field.config?.unit,
    decimals: typeof axis.decimals === "number" ? axis.decimals : undefined,
    kind: "number",
    isTick: true,
  });
  return (value) => whole(format(value));
}

/** The links of a cell that is a value of a series, and not counted of several. */
function linksAt({ rows }: HeatCells, row: number, time: number): Link[] {
  const source = rows[row]?.source;
  const at = source?.time.values.indexOf(time) ?? -1;
  return source && at >= 0 ? linksOf(source.field, at) : [];
}

function greatest(cells: HeatCells): number {
  let most = 0;
  for (const row of cells.values)
    for (const value of row) if (typeof value === "number" && value > most) most = value;
  return most;
}

function draw(
  context: CanvasRenderingContext2D,
  cells: HeatCells,
  area: { left: number; top: number; width: number; height: number },
  range: { from: number; to: number },
  names: readonly string[],
  paint: (value: number) => string,
): void {
  const span = range.to - range.from;
  const rowHeight = area.height / cells.rows.length;
  drawTimes(context, area, range.from, range.to, { text: token("--text-muted"), grid: token("--grid") });
  context.save();
  context.beginPath();
  context.rect(area.left, area.top, area.width, area.height);
  context.clip();
  for (const [row, values] of cells.values.entries()) {
    const y = area.top + (cells.rows.length - 1 - row) * rowHeight;
    for (const [column, value] of values.entries()) {
      if (typeof value !== "number" || value <= 0) continue;
      const x = area.left + ((cells.times[column]! - range.from) / span) * area.width;
      context.fillStyle = paint(value);
      context.fillRect(
        x,
        y,
        Math.max(1, (cells.stepMillis / span) * area.width - 0.6),
        Math.max(1, rowHeight - 0.6),
      );
    }
  }
  context.restore();
  context.fillStyle = token("--text-muted");
  context.textAlign = "right";
  context.textBaseline = "middle";
  const every = Math.max(1, Math.ceil(14 / rowHeight));
  for (const [row, name] of names.entries()) {
    if (row % every !== 0) continue;
    // Bounds stand at the upper edge of their row, names in its middle.
    const y =
      area.top +
      (cells.rows.length - 1 - row) * rowHeight +
      (cells.rows[row]!.to === undefined ? rowHeight / 2 : 0);
    context.fillText(name, area.left - 6, Math.max(8, y));
  }
}
