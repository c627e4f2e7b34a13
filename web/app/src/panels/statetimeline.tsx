/**
 * States over time, one line for each series: as long as they lasted (state timeline), or as they were
 * found at each point (status history).
 */
import { useMemo } from "preact/hooks";
import { theme, token } from "../frame/theme";
import { colorOf } from "../ui/colors";
import { highest } from "../ui/ends";
import { duration, fullTime } from "../ui/format";
import { units } from "../ui/units";
import { Canvas } from "./canvas";
import { textOn } from "./colors";
import { display, whole } from "./display";
import { isExemplars } from "./exemplars";
import { type Cell, type Field, type Frame, isHiddenFrom, nameOf, option, timeOf } from "./frame";
import { HoverBox, placeOf, useHover } from "./hover";
import type { PanelProps } from "./kinds";
import { legendOptions } from "./legend";
import { linksOf } from "./links";
import { NoData } from "./nodata";
import { sortedRows } from "./series";
import { drawTimes } from "./timescale";
import { inZone, zone } from "./zone";

export interface Piece {
  from: number;
  to: number;
  text: string;
  color: string;
  /** The row that it begins with. */
  row: number;
}

export interface Lane {
  name: string;
  field: Field;
  pieces: Piece[];
}

export function StateTimeline(props: PanelProps) {
  return <Lanes {...props} isHistory={false} />;
}

export function StatusHistory(props: PanelProps) {
  return <Lanes {...props} isHistory />;
}

function Lanes({
  panel,
  frames,
  width,
  height,
  range,
  isHistory,
  onZoom,
}: PanelProps & { isHistory: boolean }) {
  const isMerged = !isHistory && option(panel.options, "mergeValues", true);
  const lanes = useMemo(
    () => lanesOf(frames, range.to, isMerged),
    [frames, range.to, isMerged, theme.value, units.value, zone.value],
  );
  const { hovered, enter, leave, keep } = useHover();
  if (lanes.length === 0) return <NoData frames={frames} />;
  const cut = laneFields(frames).length - lanes.length;
  const legend = legendOptions(panel.options);
  const states = new Map(
    lanes.flatMap(({ pieces }) => pieces.map(({ text, color }) => [text, color] as const)),
  );
  const showsLegend = legend.isShown && states.size <= 24;
  const left = Math.min(
    width * 0.35,
    highest(
      lanes.map(({ name }) => name.length),
      0,
    ) *
      6.6 +
      14,
  );
  const area = {
    left,
    top: 4,
    width: width - left - 8,
    height: height - 26 - (showsLegend ? 24 : 0) - (cut > 0 ? 18 : 0),
  };
  const laneHeight = area.height / lanes.length;
  const share = option(panel.options, isHistory ? "colWidth" : "rowHeight", 0.9);
  const showValue = option(panel.options, "showValue", "auto");
  const pieceAt = (x: number, y: number) => {
    const lane = lanes[Math.floor((y - area.top) / laneHeight)];
    const time = range.from + ((x - area.left) / area.width) * (range.to - range.from);
    const piece = lane?.pieces.find(({ from, to }) => time >= from && time < to);
    return lane && piece ? { lane, piece } : undefined;
  };
  type Found = NonNullable<ReturnType<typeof pieceAt>>;
  const said = ({ lane, piece }: Found) =>
    [
      fullTime(inZone(piece.from)),
      [
        { label: lane.name, value: piece.text, color: piece.color },
        { label: "for", value: duration((piece.to - piece.from) * 1e6) },
      ],
    ] as const;
  return (
    <div>
      <Canvas
        width={width}
        height={area.height + 26}
        label={`${panel.title}. ${lanes.map(({ name, pieces }) => `${name}: now ${pieces.at(-1)?.text ?? "nothing"}`).join(", ")}`}
        about={[lanes, zone.value, range.from, range.to, area.height, share, isHistory, showValue]}
        draw={(context) => draw(context, lanes, area, range, share, isHistory, showValue)}
        onLeave={leave}
        onMove={(event, x, y) => {
          const found = pieceAt(x, y);
          if (!found) return leave();
          enter(event, ...said(found));
        }}
        onClick={(event, x, y) => {
          const found = pieceAt(x, y);
          if (!found) return;
          const { lane, piece } = found;
          // What leads somewhere is not looked at closer by a click.
          if (!keep(placeOf(event), ...said(found), linksOf(lane.field, piece.row)))
            onZoom?.(piece.from, piece.to);
        }}
      />
      {cut > 0 && (
        <p class="muted panel-cut">
          {cut} more {cut === 1 ? "lane is" : "lanes are"} not shown.
        </p>
      )}
      {showsLegend && (
        <ul class="legend-list">
          {[...states].map(([text, color]) => (
            <li key={text} class="legend-plain">
              <span class="legend-mark legend-mark-bars" style={{ background: color }} /> {text}
            </li>
          ))}
        </ul>
      )}
      <HoverBox of={hovered} />
    </div>
  );
}

const MOST_LANES = 200;

/** What has a lane: each column beside the time. */
function laneFields(frames: readonly Frame[]): { field: Field; times: number[] }[] {
  return frames.flatMap((frame) => {
    const time = timeOf(frame);
    if (!time || isExemplars(frame)) return [];
    const fields = frame.fields.filter((field) => field !== time && !isHiddenFrom(field, "viz"));
    return fields.map((field) => ({ field, times: time.values as number[] }));
  });
}

/** The lanes of frames, as many as are drawn. */
export function lanesOf(frames: readonly Frame[], end: number, isMerged: boolean): Lane[] {
  return laneFields(frames)
    .slice(0, MOST_LANES)
    .map(({ field, times }) => ({
      name: nameOf(field),
      field,
      pieces: piecesOf(field, times, end, isMerged),
    }));
}

function piecesOf(field: Field, times: readonly number[], end: number, isMerged: boolean): Piece[] {
  const show = display(field);
  const pieces: Piece[] = [];
  let before: Cell;
  const order = sortedRows(times);
  for (const [at, row] of order.entries()) {
    const time = times[row]!;
    const cell = field.values[row];
    const to = Math.min(end, times[order[at + 1] ?? -1] ?? end);
    if (to <= time) continue;
    const last = pieces.at(-1);
    if (cell === null || cell === undefined) {
      before = undefined;
      continue;
    }
    if (isMerged && last && before === cell) {
      last.to = to;
      continue;
    }
    before = cell;
    const shown = show(cell);
    // States that nobody gave a colour have that of their text.
    const paint =
      shown.isJudged && (field.type !== "string" || field.config?.mappings?.length)
        ? shown.color
        : colorOf(whole(shown));
    pieces.push({ from: time, to, text: whole(shown), color: paint, row });
  }
  return pieces;
}

function draw(
  context: CanvasRenderingContext2D,
  lanes: readonly Lane[],
  area: { left: number; top: number; width: number; height: number },
  range: { from: number; to: number },
  share: number,
  isHistory: boolean,
  showValue: string,
): void {
  const laneHeight = area.height / lanes.length;
  const thick = Math.max(3, Math.min(laneHeight - 2, laneHeight * (isHistory ? 0.9 : share)));
  const x = (time: number) => area.left + ((time - range.from) / (range.to - range.from)) * area.width;
  drawTimes(context, area, range.from, range.to, { text: token("--text-muted"), grid: token("--grid") });
  context.textBaseline = "middle";
  for (const [at, lane] of lanes.entries()) {
    const top = area.top + at * laneHeight + (laneHeight - thick) / 2;
    const middle = area.top + (at + 0.5) * laneHeight;
    for (const piece of lane.pieces) {
      const from = Math.max(area.left, x(piece.from));
      const to = Math.min(area.left + area.width, x(piece.to));
      const width = isHistory ? Math.max(1, (to - from) * share) : Math.max(1, to - from - 0.5);
      if (to <= area.left || from >= area.left + area.width) continue;
      context.fillStyle = piece.color;
      context.fillRect(from, top, width, thick);
      if (showValue !== "never" && width > piece.text.length * 6.6 + 6 && thick > 12) {
        context.fillStyle = textOn(piece.color);
        context.textAlign = "left";
        context.fillText(piece.text, from + 4, middle);
      }
    }
    context.fillStyle = token("--text");
    context.textAlign = "right";
    context.fillText(shortened(context, lane.name, area.left - 10), area.left - 7, middle);
  }
}

function shortened(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text;
  let end = text.length;
  while (end > 1 && context.measureText(`${text.slice(0, end)}…`).width > width) end -= 1;
  return `${text.slice(0, end)}…`;
}
