/** Shares of a whole as slices of a pie or a ring. */
import { colorAt } from "../ui/colors";
import { faded } from "../ui/shades";
import { whole } from "./display";
import { option, part, texts } from "./frame";
import { HoverBox, leading, useHover } from "./hover";
import type { PanelProps } from "./kinds";
import { legendOptions, pick } from "./legend";
import type { Link } from "./links";
import { NoData } from "./nodata";
import { type Reduced, reduced } from "./reduced";
import { useRemembered } from "./remembered";
import { emptyWhy } from "./stat";
import { useSize } from "./usesize";

export function PieChart({ panel, frames, shown = [], width, height }: PanelProps) {
  const [hidden, setHidden] = useRemembered<ReadonlySet<string>>("pie hidden", () => new Set());
  const [box, size] = useSize(width, height);
  const { hovered, enter, leave, keep } = useHover();
  const all = reduced(shown, frames).filter(({ shown }) => shown.number !== null && shown.number > 0);
  const sort = option(panel.options, "sort", "desc");
  if (sort !== "none") all.sort((a, b) => (sort === "asc" ? 1 : -1) * (a.shown.number! - b.shown.number!));
  if (all.length === 0) return <NoData frames={frames} why={emptyWhy(panel.options)} />;
  const slices = all.map((value, at) => ({
    value,
    color: value.shown.isJudged ? value.shown.color : sliceColor(value, at, all),
  }));
  const visible = slices.filter(({ value }) => !hidden.has(value.key));
  const total = visible.reduce((sum, { value }) => sum + value.shown.number!, 0);
  const legend = legendOptions(panel.options);
  const keys = all.map(({ key }) => key);
  const percent = (value: Reduced) => `${((value.shown.number! / total) * 100).toFixed(1)} %`;
  const radius = Math.max(10, Math.min(size.width, size.height) / 2 - 6);
  const inner = option(panel.options, "pieType", "pie") === "donut" ? radius * 0.6 : 0;
  let from = 0;
  return (
    <div class={`chart-box ${legend.isShown && legend.isRight ? "chart-box-right" : ""}`}>
      <div class="chart-plot" ref={box}>
        <svg
          width={size.width}
          height={size.height}
          role={visible.some(({ value }) => value.links.length > 0) ? "group" : "img"}
          aria-label={`${panel.title}. ${slices.map(({ value }) => `${value.name}: ${whole(value.shown)}`).join(", ")}`}
          onPointerLeave={leave}
        >
          <g transform={`translate(${size.width / 2} ${size.height / 2})`}>
            {visible.map(({ value, color }) => {
              const share = value.shown.number! / total;
              const start = from;
              from += share;
              const rows = [{ label: value.name, value: `${whole(value.shown)} (${percent(value)})`, color }];
              return (
                <Slice
                  key={value.key}
                  start={start}
                  share={share}
                  radius={radius}
                  inner={inner}
                  color={color}
                  label={labelOf(panel.options, value, percent(value))}
                  name={`${value.name} ${whole(value.shown)}`}
                  links={value.links}
                  onMove={(event) => enter(event, "", rows)}
                  onOpen={(place) => keep(place, "", rows, value.links)}
                />
              );
            })}
          </g>
        </svg>
        <HoverBox of={hovered} />
      </div>
      {legend.isShown && (
        <PieLegend
          slices={slices}
          options={panel.options}
          isRight={legend.isRight}
          isTable={legend.isTable}
          percent={percent}
          hidden={hidden}
          onPick={(key, isAdded) => setHidden(pick(keys, hidden, key, isAdded))}
        />
      )}
    </div>
  );
}

/** Slices that rows of one column are have that column's colour: they get colours by their places. */
function sliceColor(value: Reduced, at: number, all: readonly Reduced[]): string {
  const first = all[0]!.field.state?.seriesIndex;
  const isOneColumn = all.length > 1 && all.every(({ field }) => field.state?.seriesIndex === first);
  return isOneColumn ? colorAt(at) : value.shown.color;
}

function labelOf(options: Record<string, unknown>, value: Reduced, percent: string): string {
  const labels = texts(options, "displayLabels");
  const parts = { name: value.name, value: whole(value.shown), percent };
  return labels
    .map((label) => parts[label as keyof typeof parts] ?? "")
    .filter(Boolean)
    .join(" ");
}

interface SliceProps {
  start: number;
  share: number;
  radius: number;
  inner: number;
  color: string;
  label: string;
  name: string;
  links: readonly Link[];
  onMove: (event: PointerEvent) => void;
  onOpen: (place: { x: number; y: number }) => void;
}

function Slice({ start, share, radius, inner, color, label, name, links, onMove, onOpen }: SliceProps) {
  const at = (part: number, distance: number) => {
    const angle = part * 2 * Math.PI - Math.PI / 2;
    return `${(distance * Math.cos(angle)).toFixed(2)} ${(distance * Math.sin(angle)).toFixed(2)}`;
  };
  // A whole circle is no arc: its ends would be the same.
  const end = start + Math.min(share, 0.99999);
  const isLarge = share > 0.5 ? 1 : 0;
  const path = `M${at(start, radius)} A${radius} ${radius} 0 ${isLarge} 1 ${at(end, radius)} L${at(end, inner)} A${inner || 0.01} ${inner || 0.01} 0 ${isLarge} 0 ${at(start, inner)} Z`;
  const [x, y] = at(start + share / 2, (radius + inner) / 2 + (inner === 0 ? radius * 0.12 : 0)).split(" ");
  return (
    <g onPointerMove={onMove} {...leading(name, links, onOpen)}>
      <path d={path} fill={color} stroke="var(--surface)" stroke-width="1.5" />
      {label !== "" && share > 0.06 && (
        <text x={x} y={y} text-anchor="middle" class="pie-label">
          {label}
        </text>
      )}
    </g>
  );
}

interface PieLegendProps {
  slices: readonly { value: Reduced; color: string }[];
  options: Record<string, unknown>;
  isRight: boolean;
  isTable: boolean;
  percent: (value: Reduced) => string;
  hidden: ReadonlySet<string>;
  onPick: (key: string, isAdded: boolean) => void;
}

function PieLegend({ slices, options, isRight, isTable, percent, hidden, onPick }: PieLegendProps) {
  const values = texts(part(options, "legend"), "values");
  return (
    <div class={`legend legend-${isRight ? "right" : "bottom"}`}>
      <ul class={isTable || isRight ? "legend-rows" : "legend-list"}>
        {slices.map(({ value, color }) => (
          <li key={value.key}>
            <button
              type="button"
              class={hidden.has(value.key) ? "legend-item legend-off" : "legend-item"}
              aria-pressed={!hidden.has(value.key)}
              title={value.name}
              onClick={(event) => onPick(value.key, event.ctrlKey || event.metaKey || event.shiftKey)}
            >
              <span
                class="legend-mark legend-mark-bars"
                style={{ background: color, borderColor: faded(color, 0.5) }}
              />
              <span class="ellipsis">{value.name}</span>
            </button>
            {values.includes("value") && <span class="legend-value">{whole(value.shown)}</span>}
            {values.includes("percent") && (
              <span class="legend-value">{hidden.has(value.key) ? "" : percent(value)}</span>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}
