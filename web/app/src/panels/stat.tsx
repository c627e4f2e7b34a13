/** Large values with their names, in the colours of their thresholds, with a small line of how they came. */
import type { JSX } from "preact";
import { endsOf } from "../ui/ends";
import { faded } from "../ui/shades";
import { color, legible, textOn } from "./colors";
import { option } from "./frame";
import type { PanelProps } from "./kinds";
import { Linked } from "./linked";
import { columnsOf, fitting } from "./measure";
import { NoData } from "./nodata";
import { type Reduced, reduced } from "./reduced";

export function Stat({ panel, frames, shown = [], width, height }: PanelProps) {
  const values = reduced(shown, frames);
  if (values.every(({ shown }) => shown.text === ""))
    return <NoData frames={frames} field={frames[0]?.fields[0]} why={emptyWhy(panel.options)} />;
  const columns = columnsOf(panel.options, values.length, { width, height }, 2.2);
  const rows = Math.ceil(values.length / columns);
  const cell = { width: width / columns - 6, height: Math.max(28, height / rows - 6) };
  const common = commonSize(values, panel.options, cell);
  return (
    <div
      class="stat-grid"
      style={{
        gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))`,
        gridAutoRows: `minmax(${Math.min(cell.height, 28)}px, 1fr)`,
      }}
    >
      {values.map((value) => (
        <One
          key={value.key}
          value={value}
          options={panel.options}
          size={common}
          count={values.length}
          room={cell}
        />
      ))}
    </div>
  );
}

export function emptyWhy(options: Record<string, unknown>): string | undefined {
  const fields = (options.reduceOptions as { fields?: string } | undefined)?.fields;
  return fields ? `No field fits ${fields}.` : undefined;
}

interface Sizes {
  value: number;
  name: number;
}

/** From here on a box has room for a name beside its value. */
const WIDE_RATIO = 2.5;

/** What stands in the boxes of values, and whether beside each other. */
export function statLayout(
  options: Record<string, unknown>,
  count: number,
  room: { width: number; height: number },
): {
  showsName: boolean;
  showsValue: boolean /** Whether the name stands beside the value. */;
  isWide: boolean;
} {
  const mode = option(options, "textMode", "auto");
  const showsName = mode === "value_and_name" || mode === "name" || (mode === "auto" && count > 1);
  const showsValue = mode !== "name" && mode !== "none";
  const mayBeWide = option(options, "wideLayout", true) && showsName && showsValue;
  return { showsName, showsValue, isWide: mayBeWide && room.width > room.height * WIDE_RATIO };
}

/** One size for all values, so that they can be compared. */
function commonSize(
  values: readonly Reduced[],
  options: Record<string, unknown>,
  room: { width: number; height: number },
): Sizes {
  const { showsName, isWide } = statLayout(options, values.length, room);
  const given = (options.text ?? {}) as { valueSize?: number; titleSize?: number };
  const nameHeight = showsName ? Math.min(16, room.height * 0.3) : 0;
  const valueRoom =
    (room.height - (isWide ? 0 : nameHeight) - 6) *
    (option(options, "graphMode", "area") === "none" ? 0.8 : 0.6);
  const longest = values
    .map(({ shown }) => shown.prefix + shown.text + shown.suffix)
    .reduce((a, b) => (b.length > a.length ? b : a), "0");
  return {
    value: given.valueSize ?? fitting(longest, (room.width - 16) * (isWide ? 0.5 : 1), valueRoom, 12, 64),
    name: given.titleSize ?? Math.max(11, Math.min(14, nameHeight)),
  };
}

function One({
  value,
  options,
  size,
  count,
  room,
}: {
  value: Reduced;
  options: Record<string, unknown>;
  size: Sizes;
  count: number;
  room: { width: number; height: number };
}) {
  const mode = option(options, "colorMode", "value");
  const { showsName, showsValue, isWide } = statLayout(options, count, room);
  const paint = value.shown.color;
  const isBackground = mode === "background" || mode === "background_solid";
  const style: JSX.CSSProperties = isBackground
    ? {
        background:
          mode === "background" ? `linear-gradient(120deg, ${faded(paint, 0.82)}, ${paint})` : paint,
        color: textOn(paint),
      }
    : { color: mode === "value" ? legible(paint) : color("text") };
  const isCentered = option(options, "justifyMode", "auto") === "center" || (count === 1 && !showsName);
  return (
    <div
      class={`stat ${isCentered ? "stat-center" : ""} ${isWide ? "stat-wide" : ""}`}
      style={style}
      role="group"
      aria-label={`${value.name}: ${value.shown.prefix}${value.shown.text}${value.shown.suffix}`}
    >
      {option(options, "graphMode", "area") === "area" && value.trend && room.height > 50 && (
        <Trend trend={value.trend} paint={isBackground ? textOn(paint) : paint} />
      )}
      {showsName && (
        <div
          class="stat-name ellipsis"
          style={{ fontSize: size.name, color: isBackground ? undefined : "var(--text)" }}
          title={value.name}
        >
          {value.name}
        </div>
      )}
      {showsValue && (
        <Linked links={value.links}>
          <span class="stat-value" style={{ fontSize: size.value }}>
            <small>{value.shown.prefix}</small>
            {value.shown.text}
            <small>{value.shown.suffix}</small>
          </span>
        </Linked>
      )}
      {option(options, "showPercentChange", false) && value.percentChange !== undefined && (
        <Change change={value.percentChange} isPlain={isBackground} />
      )}
    </div>
  );
}

/** By how much the last value differs from the first. */
function Change({ change, isPlain }: { change: number; isPlain: boolean }) {
  return (
    <span class={isPlain ? "stat-change" : `stat-change ${change < 0 ? "bad" : "good"}`}>
      {change < 0 ? "▼" : "▲"} {Math.abs(change).toFixed(1)} %
    </span>
  );
}

/** The line below a value. */
function Trend({ trend, paint }: { trend: NonNullable<Reduced["trend"]>; paint: string }) {
  const { times, values } = trend;
  const known = values.filter((value): value is number => value !== null && Number.isFinite(value));
  const ends = endsOf(known);
  if (!ends || known.length < 2) return null;
  const [low, high] = ends;
  const [from, to] = [times[0]!, times.at(-1)!];
  const points = values.flatMap((value, at) =>
    value === null || !Number.isFinite(value)
      ? []
      : [
          [
            ((times[at]! - from) / (to - from || 1)) * 100,
            96 - ((value - low) / (high - low || 1)) * 86,
          ] as const,
        ],
  );
  const line = points.map(([x, y]) => `${x.toFixed(2)},${y.toFixed(2)}`).join(" ");
  return (
    <svg class="stat-trend" viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">
      <polygon
        points={`${points[0]![0].toFixed(2)},100 ${line} ${points.at(-1)![0].toFixed(2)},100`}
        fill={faded(paint, 0.18)}
      />
      <polyline
        points={line}
        fill="none"
        stroke={faded(paint, 0.75)}
        stroke-width="1.3"
        vector-effect="non-scaling-stroke"
      />
    </svg>
  );
}
