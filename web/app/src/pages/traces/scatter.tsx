/** Few traces as points: when they began, and how long they took. A point opens its trace. */
import { useEffect, useRef, useState } from "preact/hooks";
import { href } from "../../frame/base";
import { link, navigate } from "../../frame/router";
import type { Range } from "../../frame/time";
import { colorOf } from "../../ui/colors";
import { duration, millisOf, time } from "../../ui/format";
import type { FoundTrace } from "./found";

interface ScatterProps {
  traces: readonly FoundTrace[];
  height: number;
  range: Range;
}

const LEFT = 58;
const BOTTOM = 18;

export function Scatter({ traces, height, range }: ScatterProps) {
  const root = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(400);
  useEffect(() => {
    const observer = new ResizeObserver(() => setWidth(root.current?.clientWidth ?? 400));
    observer.observe(root.current!);
    return () => observer.disconnect();
  }, []);
  const sizes = traces.map(({ durationNanos }) => Math.max(1, durationNanos));
  const [low, high] = [Math.log(Math.min(...sizes)) - 0.2, Math.log(Math.max(...sizes)) + 0.2];
  const x = (millis: number) =>
    LEFT + ((millis - range.from) / (range.to - range.from)) * (width - LEFT - 10);
  const y = (nanos: number) =>
    6 + (1 - (Math.log(Math.max(1, nanos)) - low) / (high - low)) * (height - BOTTOM - 12);
  const levels = [0, 0.33, 0.67, 1].map((part) => Math.exp(low + part * (high - low)));
  return (
    <div ref={root} class="scatter">
      <svg
        width={width}
        height={height}
        role="group"
        aria-label={`${traces.length} traces by start and duration`}
      >
        {levels.map((level) => (
          <g key={level}>
            <line class="scatter-grid" x1={LEFT} x2={width - 10} y1={y(level)} y2={y(level)} />
            <text class="scatter-label" x={LEFT - 6} y={y(level) + 4} text-anchor="end">
              {duration(level)}
            </text>
          </g>
        ))}
        {[0, 0.5, 1].map((part) => (
          <text
            key={part}
            class="scatter-label"
            x={LEFT + part * (width - LEFT - 10)}
            y={height - 4}
            text-anchor={part === 0 ? "start" : part === 1 ? "end" : "middle"}
          >
            {time(range.from + part * (range.to - range.from))}
          </text>
        ))}
        {traces.map((trace) => (
          <a
            key={trace.id}
            href={href(link(`/trace/${trace.id}`))}
            onClick={(event) => {
              // Links of drawings are not taken by the frame: their addresses are no texts.
              if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
              event.preventDefault();
              navigate(link(`/trace/${trace.id}`));
            }}
            aria-label={`${trace.service} ${trace.name}, ${duration(trace.durationNanos)}`}
          >
            <circle
              class={trace.errorCount > 0 ? "scatter-dot scatter-bad" : "scatter-dot"}
              cx={x(millisOf(trace.start))}
              cy={y(trace.durationNanos)}
              r={5}
              fill={colorOf(trace.service)}
            >
              <title>
                {`${trace.service} ${trace.name}\n${duration(trace.durationNanos)}${trace.errorCount > 0 ? `, ${trace.errorCount} errors` : ""}`}
              </title>
            </circle>
          </a>
        ))}
      </svg>
    </div>
  );
}
