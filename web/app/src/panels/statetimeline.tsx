/**
 * States over time, one line for each series: as long as they lasted (state timeline), or as they were
 * found at each point (status history).
 */
import { useMemo } from "preact/hooks";
import { theme, token } from "../frame/theme";
import { highest } from "../ui/ends";
import { duration } from "../ui/format";
import { units } from "../ui/units";
import { Canvas } from "./canvas";
import { textOn } from "./colors";
import { option } from "./frame";
import { HoverBox, placeOf, useHover } from "./hover";
import type { PanelProps } from "./kinds";
import { type Lane, laneCount, lanesOf } from "./lanes";
import { legendOptions } from "./legend";
import { linksOf } from "./links";
import { NoData } from "./nodata";
import { drawTimes } from "./timescale";
import { ownZones, zone, zonedFull } from "./zone";

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
  const cut = laneCount(frames) - lanes.length;
  const legend = legendOptions(panel.options);
  const [clock] = ownZones(panel.options);
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
      zonedFull(piece.from, clock),
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
        label={`${panel.title}. ${lanes.map(({ name, pieces }) => `${name}: last ${pieces.at(-1)?.text ?? "nothing"}`).join(", ")}`}
        about={[lanes, clock, zone.value, range.from, range.to, area.height, share, isHistory, showValue]}
        draw={(context) => draw(context, lanes, area, range, share, isHistory, showValue, clock)}
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

function draw(
  context: CanvasRenderingContext2D,
  lanes: readonly Lane[],
  area: { left: number; top: number; width: number; height: number },
  range: { from: number; to: number },
  share: number,
  isHistory: boolean,
  showValue: string,
  clock: string | undefined,
): void {
  const laneHeight = area.height / lanes.length;
  const thick = Math.max(3, Math.min(laneHeight - 2, laneHeight * (isHistory ? 0.9 : share)));
  const x = (time: number) => area.left + ((time - range.from) / (range.to - range.from)) * area.width;
  const colors = { text: token("--text-muted"), grid: token("--grid") };
  drawTimes(context, area, range.from, range.to, colors, clock);
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
