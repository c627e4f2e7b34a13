/** Two lines over the time since each session began: how fast the one went beside the other. */
import { ticks } from "../../ui/canvas/ticks";
import { highest } from "../../ui/ends";

export interface BesideLine {
  label: string;
  color: string;
  dash?: string;
  /** Seconds from the beginning, and the value. */
  points: readonly (readonly [number, number])[];
}

const WIDTH = 1000;
const HEIGHT = 160;
const FOOT = 18;

export function Beside({
  lines,
  label,
  format,
}: {
  lines: readonly BesideLine[];
  label: string;
  format: (value: number) => string;
}) {
  const all = lines.flatMap((line) => line.points);
  const longest = highest(
    all.map(([at]) => at),
    1e-9,
  );
  const most = highest(
    all.map(([, value]) => value),
    1e-9,
  );
  const x = (at: number) => (at / longest) * WIDTH;
  const y = (value: number) => HEIGHT - FOOT - (value / most) * (HEIGHT - FOOT - 8);
  return (
    <figure class="beside" aria-label={`${label}: ${lines.map((line) => line.label).join(", ")}`}>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
        {ticks(0, longest * 1e9, 8).map((tick) => (
          <line
            key={tick.at}
            class="beside-grid"
            x1={x(tick.at / 1e9)}
            x2={x(tick.at / 1e9)}
            y1={0}
            y2={HEIGHT - FOOT}
          />
        ))}
        {lines.map((line) => (
          <polyline
            key={line.label}
            points={line.points.map(([at, value]) => `${x(at)},${y(value)}`).join(" ")}
            fill="none"
            stroke={line.color}
            stroke-width="1.6"
            stroke-dasharray={line.dash}
            vector-effect="non-scaling-stroke"
          />
        ))}
      </svg>
      <div class="beside-axis" aria-hidden="true">
        {ticks(0, longest * 1e9, 8).map((tick) => (
          <span key={tick.at} style={{ left: `${(tick.at / 1e9 / longest) * 100}%` }}>
            {tick.label}
          </span>
        ))}
      </div>
      <figcaption>
        {lines.map((line) => (
          <span key={line.label}>
            <i class="swatch" style={{ background: line.color }} /> {line.label},{" "}
            {format(
              highest(
                line.points.map(([, value]) => value),
                0,
              ),
            )}{" "}
            at most
          </span>
        ))}
      </figcaption>
    </figure>
  );
}
