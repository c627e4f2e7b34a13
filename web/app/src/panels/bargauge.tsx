/** Values as bars beside or below each other: plain, with a gradient, or as cells that light up. */
import { between, faded } from "../ui/shades";
import { legible, scaleOf } from "./colors";
import { whole } from "./display";
import { type Field, option } from "./frame";
import { shares } from "./gauge";
import type { PanelProps } from "./kinds";
import { Linked } from "./linked";
import { givenSizes } from "./measure";
import { NoData } from "./nodata";
import { type Reduced, reduced } from "./reduced";
import { emptyWhy } from "./stat";

export function BarGauge({ panel, frames, shown = [], width, height }: PanelProps) {
  const values = reduced(shown, frames);
  if (values.length === 0)
    return <NoData frames={frames} field={frames[0]?.fields[0]} why={emptyWhy(panel.options)} />;
  const given = option(panel.options, "orientation", "auto");
  const isVertical = given === "vertical" || (given === "auto" && width > height * 2 && values.length > 1);
  const sizes = givenSizes(panel.options, USUAL);
  return (
    <div
      class={isVertical ? "bargauge bargauge-vertical" : "bargauge"}
      style={sizes && { gridAutoRows: `minmax(${sizes.minHeight}px, ${sizes.maxHeight}px)` }}
      tabIndex={0}
      role="list"
      aria-label={panel.title}
    >
      {values.map((value) => (
        <Bar
          key={value.key}
          value={value}
          options={panel.options}
          isVertical={isVertical}
          minWidth={isVertical ? sizes?.minWidth : undefined}
          isAlone={values.length === 1}
        />
      ))}
    </div>
  );
}

/** The room of a bar whose size is given, but not how large it is. */
const USUAL = { minWidth: 8, minHeight: 16, maxHeight: 300 };

interface BarProps {
  value: Reduced;
  options: Record<string, unknown>;
  isVertical: boolean;
  minWidth: number | undefined;
  isAlone: boolean;
}

function Bar({ value, options, isVertical, minWidth, isAlone }: BarProps) {
  const { shown } = value;
  const mode = option(options, "displayMode", "gradient");
  const placement = option(options, "namePlacement", "auto");
  const valueMode = option(options, "valueMode", "color");
  const showsName = placement !== "hidden" && (!isAlone || placement !== "auto" || value.name !== "");
  const name = showsName && (
    <span class="bargauge-name ellipsis" title={value.name}>
      {value.name}
    </span>
  );
  return (
    <div
      style={{ minWidth }}
      class={`bargauge-row ${placement === "top" ? "bargauge-top" : ""}`}
      role="listitem"
      aria-label={`${value.name}: ${whole(shown)}`}
    >
      {!isVertical && name}
      <div
        class={option(options, "showUnfilled", true) ? "bargauge-track bargauge-unfilled" : "bargauge-track"}
      >
        {mode === "lcd" ? (
          <Cells value={value} isVertical={isVertical} />
        ) : (
          <Fill value={value} mode={mode} isVertical={isVertical} />
        )}
      </div>
      {valueMode !== "hidden" && (
        <Linked links={value.links}>
          <span
            class="bargauge-value"
            style={{ color: valueMode === "text" ? undefined : legible(shown.color) }}
          >
            {whole(shown)}
          </span>
        </Linked>
      )}
      {isVertical && name}
    </div>
  );
}

/** In how many parts a scale without steps is drawn. */
const STOPS = 10;

/** The colours along a scale, each from its share on, by the mode of the field; none of one colour. */
export function colorsAlong(field: Field): { from: number; color: string }[] {
  const mode = field.config?.color?.mode ?? "thresholds";
  if (mode === "thresholds" || mode === "") return shares(field);
  if (!mode.startsWith("continuous-")) return [];
  const scale = scaleOf(mode);
  return Array.from({ length: STOPS + 1 }, (_, at) => {
    const from = at / STOPS;
    return { from, color: between(scale, from) };
  });
}

function Fill({ value, mode, isVertical }: { value: Reduced; mode: string; isVertical: boolean }) {
  const { shown, field } = value;
  const length = `${Math.max(shown.number === null ? 0 : 0.4, shown.share * 100)}%`;
  const direction = isVertical ? "to top" : "to right";
  const stops = colorsAlong(field).filter(({ from }) => from <= shown.share);
  const gradient =
    stops.length > 1
      ? stops
          .map((stop) => `${stop.color} ${Math.round((stop.from / Math.max(0.01, shown.share)) * 100)}%`)
          .join(", ")
      : `${faded(shown.color, 0.55)}, ${shown.color}`;
  const background =
    mode === "gradient" ? `linear-gradient(${direction}, ${gradient})` : faded(shown.color, 0.75);
  return (
    <div
      class="bargauge-fill"
      style={
        isVertical
          ? { height: length, width: "100%", background }
          : { width: length, height: "100%", background }
      }
    />
  );
}

const CELLS = 40;

function Cells({ value, isVertical }: { value: Reduced; isVertical: boolean }) {
  const steps = colorsAlong(value.field);
  const cells = Array.from({ length: CELLS }, (_, at) => {
    const share = (at + 0.5) / CELLS;
    const paint = steps.findLast(({ from }) => from <= share)?.color ?? value.shown.color;
    const isLit = value.shown.number !== null && share <= value.shown.share;
    return <span key={at} style={{ background: isLit ? paint : faded(paint, 0.18) }} />;
  });
  return <div class="bargauge-cells">{isVertical ? cells.reverse() : cells}</div>;
}
