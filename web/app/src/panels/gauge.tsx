/** Values as arcs between the least and the greatest, with thresholds around them. */
import { faded } from "../ui/shades";
import { color, legible } from "./colors";
import { display, whole } from "./display";
import { type Field, option } from "./frame";
import type { PanelProps } from "./kinds";
import { Linked } from "./linked";
import { columnsOf, fitting, givenSizes } from "./measure";
import { NoData } from "./nodata";
import { type Reduced, reduced } from "./reduced";
import { emptyWhy } from "./stat";

export function Gauge({ panel, frames, shown = [], width, height }: PanelProps) {
  const values = reduced(shown, frames);
  if (values.length === 0)
    return <NoData frames={frames} field={frames[0]?.fields[0]} why={emptyWhy(panel.options)} />;
  const columns = columnsOf(panel.options, values.length, { width, height }, 1.25);
  const rows = Math.ceil(values.length / columns);
  const least = givenSizes(panel.options, USUAL) ?? { minWidth: 0, minHeight: 0 };
  return (
    <div
      class="gauge-grid"
      style={{
        gridTemplateColumns: `repeat(${columns}, minmax(${least.minWidth}px, 1fr))`,
        gridAutoRows: least.minHeight > 0 ? `minmax(${least.minHeight}px, 1fr)` : undefined,
      }}
    >
      {values.map((value) => (
        <Arc
          key={value.key}
          value={value}
          options={panel.options}
          width={Math.max(width / columns, least.minWidth)}
          height={Math.max(height / rows, least.minHeight)}
          showsName={values.length > 1}
        />
      ))}
    </div>
  );
}

/** The least room of a gauge whose size is given, but not how large it is. */
const USUAL = { minWidth: 75, minHeight: 75, maxHeight: Number.POSITIVE_INFINITY };

const START = Math.PI * 0.82;
const SWEEP = Math.PI * 1.36;

function point(radius: number, share: number): [number, number] {
  const angle = START + SWEEP * share;
  return [100 + radius * Math.cos(angle), 100 + radius * Math.sin(angle)];
}

/** A piece of an arc, from one share of it to another. */
function arc(radius: number, from: number, to: number): string {
  const [x1, y1] = point(radius, from);
  const [x2, y2] = point(radius, to);
  const isLarge = (to - from) * SWEEP > Math.PI ? 1 : 0;
  return `M${x1.toFixed(2)} ${y1.toFixed(2)} A${radius} ${radius} 0 ${isLarge} 1 ${x2.toFixed(2)} ${y2.toFixed(2)}`;
}

/** Thresholds as shares of the scale. */
export function shares(field: Field): { from: number; to: number; color: string; value: number | null }[] {
  const { steps = [], mode } = field.config?.thresholds ?? {};
  const [low, high] = field.state?.range ?? [field.config?.min ?? 0, field.config?.max ?? 100];
  const share = (value: number | null) => {
    if (value === null) return 0;
    const at = mode === "percentage" ? value / 100 : (value - low) / (high - low || 1);
    return Math.max(0, Math.min(1, at));
  };
  return steps.map((step, index) => ({
    from: index === 0 ? 0 : share(step.value),
    to: index + 1 < steps.length ? share(steps[index + 1]!.value) : 1,
    color: color(step.color),
    value: step.value,
  }));
}

function Arc({
  value,
  options,
  width,
  height,
  showsName,
}: {
  value: Reduced;
  options: Record<string, unknown>;
  width: number;
  height: number;
  showsName: boolean;
}) {
  const { shown, field } = value;
  const nameHeight = showsName ? 18 : 0;
  const size = Math.max(40, Math.min(width - 8, (height - nameHeight - 4) * 1.28));
  const text = whole(shown);
  const fontSize = fitting(text, 108, 50, 14, 46);
  const showsMarkers = option(options, "showThresholdMarkers", true);
  const showsLabels = option(options, "showThresholdLabels", false);
  const format = display(field);
  return (
    <div
      class="gauge"
      role="meter"
      aria-label={value.name}
      aria-valuenow={shown.number ?? undefined}
      aria-valuetext={text}
      aria-valuemin={field.state?.range?.[0]}
      aria-valuemax={field.state?.range?.[1]}
    >
      <svg viewBox="0 0 200 156" width={size} height={size * 0.78} aria-hidden="true">
        <path d={arc(72, 0, 1)} class="gauge-track" />
        {shown.number !== null && shown.share > 0 && (
          <path d={arc(72, 0, shown.share)} stroke={shown.color} class="gauge-fill" />
        )}
        {showsMarkers &&
          shares(field).map((step, at) =>
            step.to > step.from ? (
              <path key={at} d={arc(90, step.from, step.to)} stroke={step.color} class="gauge-mark" />
            ) : null,
          )}
        {showsLabels &&
          shares(field).map((step, at) => {
            // What is beyond the end of the scale has no place on it.
            if (step.value === null || step.from >= 1) return null;
            const [x, y] = point(99, step.from);
            return (
              <text key={at} x={x} y={y} class="gauge-label" text-anchor={x < 100 ? "end" : "start"}>
                {whole(format(step.value))}
              </text>
            );
          })}
        <text
          x="100"
          y="112"
          text-anchor="middle"
          style={{ fontSize }}
          fill={shown.isJudged ? legible(shown.color) : color("text")}
          class="gauge-value"
        >
          {text}
        </text>
      </svg>
      {showsName && (
        <Linked links={value.links}>
          <span
            class="gauge-name ellipsis"
            title={value.name}
            style={{ textDecorationColor: faded(shown.color, 0.5) }}
          >
            {value.name}
          </span>
        </Linked>
      )}
    </div>
  );
}
