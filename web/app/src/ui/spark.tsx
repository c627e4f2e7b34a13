/** A small line or bars without axes, beside a number. */
import { highest, lowest } from "./ends";

interface SparkProps {
  values: readonly (number | null)[];
  label: string;
  width?: number;
  height?: number;
  color?: string;
  bars?: boolean;
  /** Colours of single bars. */
  colors?: readonly (string | undefined)[];
  max?: number;
}

/** Where values are drawn, from the top: zero is always within. */
export function sparkPlaces(
  values: readonly (number | null)[],
  height: number,
  max = 0,
): { places: (number | null)[]; zero: number } {
  const known = values.filter(isKnown);
  const top = highest(known, Math.max(max, Number.MIN_VALUE));
  const bottom = lowest(known, 0);
  const place = (value: number) => height - ((value - bottom) / (top - bottom)) * (height - 2) - 1;
  return { places: values.map((value) => (isKnown(value) ? place(value) : null)), zero: place(0) };
}

/** What has no place, as what is divided by nothing, is a gap. */
function isKnown(value: number | null): value is number {
  return value !== null && Number.isFinite(value);
}

export function Spark({
  values,
  label,
  width = 90,
  height = 20,
  color = "var(--accent)",
  bars,
  colors,
  max,
}: SparkProps) {
  const { places, zero } = sparkPlaces(values, height, max);
  const step = width / Math.max(1, bars ? values.length : values.length - 1);
  return (
    <svg class="spark" width={width} height={height} role="img" aria-label={label}>
      {bars ? (
        places.map((y, index) =>
          y === null ? null : (
            <rect
              key={index}
              x={index * step}
              y={Math.min(y, zero)}
              width={Math.max(1, step - 1)}
              height={Math.abs(zero - y) + 1}
              fill={colors?.[index] ?? color}
            />
          ),
        )
      ) : (
        <polyline
          points={places.map((y, index) => (y === null ? "" : `${index * step},${y}`)).join(" ")}
          fill="none"
          stroke={color}
          stroke-width="1.4"
        />
      )}
    </svg>
  );
}
