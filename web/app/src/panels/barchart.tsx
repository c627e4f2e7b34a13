/** Bars of named things, upright or lying, beside each other or stacked. */
import { useMemo } from "preact/hooks";
import { theme } from "../frame/theme";
import { highest } from "../ui/ends";
import { formatWith, units } from "../ui/units";
import { type Bar, type Bars, barsOf, cutOf, namedGroups } from "./bars";
import { seriesColor } from "./colors";
import { display, whole } from "./display";
import { withoutExemplars } from "./exemplars";
import { nameOf, numberOf, option } from "./frame";
import { HoverBox, leading, useHover } from "./hover";
import type { PanelProps } from "./kinds";
import { Legend, legendOptions } from "./legend";
import { type Link, linksOf } from "./links";
import { NoData } from "./nodata";
import { useRemembered } from "./remembered";
import { ticks } from "./ticks";
import { useSize } from "./usesize";
import { zone } from "./zone";

export function BarChart({ panel, frames: given, width, height }: PanelProps) {
  const frames = useMemo(() => withoutExemplars(given), [given]);
  const [hidden, setHidden] = useRemembered<ReadonlySet<string>>("bars hidden", () => new Set());
  const all = useMemo(
    () => barsOf(frames, panel.options),
    [frames, panel.options, theme.value, units.value, zone.value],
  );
  // What was shown alone may be in the data no more.
  const bars = useMemo(
    () => barsOf(withoutHidden(frames, hidden), panel.options) ?? all,
    [all, hidden, frames, panel.options],
  );
  const [box, size] = useSize(width, height);
  if (!bars || !all || bars.names.length === 0)
    return <NoData frames={frames} why="A bar chart needs a column of numbers." />;
  const orientation = option(panel.options, "orientation", "auto");
  const isLying = orientation === "horizontal" || (orientation === "auto" && width < height);
  const items = all.fields.map((field) => ({ key: nameOf(field), field, color: seriesColor(field) }));
  const legend = legendOptions(panel.options);
  const cut = cutOf(bars);
  return (
    <div class={`chart-box ${legend.isShown && legend.isRight ? "chart-box-right" : ""}`}>
      <div class="chart-plot" ref={box}>
        <Drawing
          bars={bars}
          options={panel.options}
          width={size.width}
          height={size.height - (cut ? CUT_HEIGHT : 0)}
          isLying={isLying}
          title={panel.title}
        />
        {cut && <p class="muted panel-cut">{cut}</p>}
      </div>
      <Legend
        items={items}
        options={{ ...legend, isShown: legend.isShown && !panel.options.colorByField }}
        hidden={hidden}
        onHide={setHidden}
      />
    </div>
  );
}

function withoutHidden(frames: PanelProps["frames"], hidden: ReadonlySet<string>): PanelProps["frames"] {
  if (hidden.size === 0) return frames;
  return frames.map((frame) => ({
    ...frame,
    fields: frame.fields.filter((field) => field.type !== "number" || !hidden.has(nameOf(field))),
  }));
}

interface DrawingProps {
  bars: Bars;
  options: Record<string, unknown>;
  width: number;
  height: number;
  isLying: boolean;
  title: string;
}

const LABEL_WIDTH = 6.4;
/** Of the line that says what is not drawn, as the style sheet has it. */
const CUT_HEIGHT = 18;

function Drawing({ bars, options, width, height, isLying, title }: DrawingProps) {
  const { hovered, enter, leave, keep } = useHover();
  const field = bars.fields[0]!;
  const format = formatWith(units.value, {
    unit: bars.isPercent ? "percentunit" : field.config?.unit,
    decimals: typeof field.config?.decimals === "number" ? field.config.decimals : undefined,
    kind: "number",
    isTick: true,
  });
  const tickText = (value: number) => whole(format(value));
  const most = option(options, "xTickLabelMaxLength", 0) || (isLying ? 28 : 24);
  const rotation = isLying ? 0 : option(options, "xTickLabelRotation", 0);
  const names = bars.names.map((name) => (name.length > most ? `${name.slice(0, most)}…` : name));
  const longest =
    highest(
      names.map(({ length }) => length),
      1,
    ) * LABEL_WIDTH;
  const values = ticks(bars.low, bars.high, isLying ? width / 110 : height / 45);
  const valueRoom = Math.max(...values.map((value) => tickText(value).length)) * LABEL_WIDTH + 10;
  const angle = Math.abs(Math.sin((rotation * Math.PI) / 180));
  const nameRoom = isLying
    ? Math.min(longest + 10, width * 0.4)
    : Math.min(18 + angle * longest, height * 0.45);
  // What stands behind a bar has to fit in too.
  const longestText = highest(
    bars.groups.flat().map(({ text }) => text.length),
    0,
  );
  const isBehind = !bars.isStacked && option(options, "showValue", "auto") !== "never";
  const valueEnd = isBehind ? longestText * LABEL_WIDTH + 8 : 14;
  const area = isLying
    ? { left: nameRoom, top: 6, width: width - nameRoom - valueEnd, height: height - 26 }
    : { left: valueRoom, top: 10, width: width - valueRoom - 8, height: height - nameRoom - 12 };
  if (area.width < 20 || area.height < 20) return null;
  const along = isLying ? area.height : area.width;
  const across = (value: number) => {
    // Where the ends of the scale are given, bars begin and end at them.
    const share = Math.max(0, Math.min(1, (value - bars.low) / (bars.high - bars.low || 1)));
    return isLying ? area.left + share * area.width : area.top + (1 - share) * area.height;
  };
  const band = along / bars.names.length;
  const isNamed = namedGroups(
    bars.names.length,
    band,
    isLying ? 15 : rotation === 0 ? Math.min(longest, 90) + 10 : 14,
    option(options, "xTickLabelSpacing", 0),
  );
  const said = (bar: Bar) => ({
    label: nameOf(bars.fields[bar.series]!),
    value: bar.text,
    color: bar.color,
  });
  const say = (event: PointerEvent, row: number) =>
    enter(event, bars.names[row]!, bars.groups[row]!.map(said));
  // What is within an image is hidden from those who cannot see it.
  const leads = bars.fields.some((field) => field.state?.links?.some(({ length }) => length > 0));
  return (
    <>
      <svg
        width={width}
        height={height}
        class={option(options, "fullHighlight", false) ? "bars-full" : undefined}
        role={leads ? "group" : "img"}
        aria-label={summary(title, bars)}
        onPointerLeave={leave}
      >
        {values.map((value) => (
          <g key={value}>
            {isLying ? (
              <line
                x1={across(value)}
                x2={across(value)}
                y1={area.top}
                y2={area.top + area.height}
                class="grid-line"
              />
            ) : (
              <line
                x1={area.left}
                x2={area.left + area.width}
                y1={across(value)}
                y2={across(value)}
                class="grid-line"
              />
            )}
            <text
              class="axis-text"
              x={isLying ? across(value) : area.left - 6}
              y={isLying ? area.top + area.height + 15 : across(value) + 4}
              text-anchor={isLying ? "middle" : "end"}
            >
              {tickText(value)}
            </text>
          </g>
        ))}
        {bars.groups.map((group, row) => {
          const start = (isLying ? area.top : area.left) + row * band;
          return (
            <g key={row} onPointerMove={(event) => say(event, row)}>
              <rect
                class="bar-hover"
                x={isLying ? area.left : start}
                y={isLying ? start : area.top}
                width={isLying ? area.width : band}
                height={isLying ? band : area.height}
              />
              {group.map((bar) => (
                <OneBar
                  key={bar.series}
                  bar={bar}
                  bars={bars}
                  options={options}
                  band={band}
                  start={start}
                  across={across}
                  isLying={isLying}
                  onOpen={(place, links) => keep(place, bars.names[row]!, [said(bar)], links)}
                />
              ))}
              {isNamed(row) && (
                <Name
                  text={names[row]!}
                  whole={bars.names[row]!}
                  middle={start + band / 2}
                  area={area}
                  isLying={isLying}
                  rotation={rotation}
                />
              )}
            </g>
          );
        })}
      </svg>
      <HoverBox of={hovered} />
    </>
  );
}

interface OneBarProps {
  bar: Bar;
  bars: Bars;
  options: Record<string, unknown>;
  band: number;
  start: number;
  across: (value: number) => number;
  isLying: boolean;
  onOpen: (place: { x: number; y: number }, links: readonly Link[]) => void;
}

function OneBar({ bar, bars, options, band, start, across, isLying, onOpen }: OneBarProps) {
  const group = band * option(options, "groupWidth", 0.7);
  const slots = bars.isStacked ? 1 : bars.fields.length;
  const slot = group / slots;
  const thick = Math.max(1, slot * option(options, "barWidth", 0.97));
  const place = start + (band - group) / 2 + (bars.isStacked ? 0 : bar.series * slot) + (slot - thick) / 2;
  const [a, b] = [across(bar.from), across(bar.to)];
  const [near, length] = [Math.min(a, b), Math.max(1, Math.abs(a - b))];
  const rectangle = isLying
    ? { x: near, y: place, width: length, height: thick }
    : { x: place, y: near, width: thick, height: length };
  const showing = option(options, "showValue", "auto");
  const fits = isLying ? thick >= 11 : bar.text.length * LABEL_WIDTH <= thick + 6;
  const isSaid = showing === "always" || (showing === "auto" && fits && (!bars.isStacked || length > 14));
  const opacity = option(bars.fields[bar.series]?.config?.custom, "fillOpacity", 80) / 100;
  const field = bars.fields[bar.series]!;
  const links = linksOf(field, bar.row);
  const label = `${bars.names[bar.row]}, ${nameOf(field)} ${bar.text}`;
  return (
    <g {...leading(label, links, (place) => onOpen(place, links))}>
      <rect
        class="bar"
        {...rectangle}
        rx={Math.min(option(options, "barRadius", 0) * thick, thick / 2)}
        fill={bar.color}
        fill-opacity={opacity}
        stroke={bar.color}
        stroke-width={option(bars.fields[bar.series]?.config?.custom, "lineWidth", 1)}
      />
      {isSaid && (
        <text
          class={bars.isStacked ? "bar-text bar-text-inside" : "bar-text"}
          x={isLying ? (bars.isStacked ? near + length / 2 : Math.max(a, b) + 4) : place + thick / 2}
          y={
            isLying ? place + thick / 2 + 4 : bars.isStacked ? near + length / 2 + 4 : Math.max(10, near - 4)
          }
          text-anchor={isLying && !bars.isStacked ? "start" : "middle"}
        >
          {bar.text}
        </text>
      )}
    </g>
  );
}

interface NameProps {
  text: string;
  whole: string;
  middle: number;
  area: { left: number; top: number; width: number; height: number };
  isLying: boolean;
  rotation: number;
}

function Name({ text, whole: full, middle, area, isLying, rotation }: NameProps) {
  const [x, y] = isLying ? [area.left - 6, middle + 4] : [middle, area.top + area.height + 14];
  const turned = rotation === 0 ? undefined : `rotate(${rotation} ${x} ${y - 4})`;
  return (
    <text
      class="axis-text"
      x={x}
      y={y}
      text-anchor={isLying ? "end" : rotation === 0 ? "middle" : rotation > 0 ? "start" : "end"}
      transform={turned}
    >
      {text}
      <title>{full}</title>
    </text>
  );
}

function summary(title: string, bars: Bars): string {
  const first = bars.names.slice(0, 5).map((name, row) => {
    const values = bars.fields.map(
      (field) => `${nameOf(field)} ${whole(display(field)(numberOf(field.values[row])))}`,
    );
    return `${name}: ${values.join(", ")}`;
  });
  return `${title}. Bars of ${bars.names.length} groups. ${first.join("; ")}`;
}
