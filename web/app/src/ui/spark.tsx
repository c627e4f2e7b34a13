/** A small line or bars without axes, beside a number. */
import { highest } from "./ends";

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
  const known = values.filter((value): value is number => value !== null);
  const top = highest(known, Math.max(max ?? 0, Number.MIN_VALUE));
  const step = width / Math.max(1, bars ? values.length : values.length - 1);
  const y = (value: number) => height - (value / top) * (height - 2) - 1;
  return (
    <svg class="spark" width={width} height={height} role="img" aria-label={label}>
      {bars ? (
        values.map((value, index) =>
          value === null ? null : (
            <rect
              key={index}
              x={index * step}
              y={y(value)}
              width={Math.max(1, step - 1)}
              height={Math.max(1, height - y(value))}
              fill={colors?.[index] ?? color}
            />
          ),
        )
      ) : (
        <polyline
          points={values
            .map((value, index) => (value === null ? "" : `${index * step},${y(value)}`))
            .join(" ")}
          fill="none"
          stroke={color}
          stroke-width="1.4"
        />
      )}
    </svg>
  );
}
