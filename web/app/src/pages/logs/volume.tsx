/** How many lines there are over time, by level, stacked. Dragging chooses a time. */
import { theme, token } from "../../frame/theme";
import { range, setRange } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { count } from "../../ui/format";
import { LEVELS, type Level } from "../../ui/level";
import { Answer } from "../../ui/states";
import { type Line, TimeChart } from "../../ui/timechart";
import { stepSeconds } from "../traces/overtime";
import { askRange, wholeSteps } from "./ask";
import { volumes } from "./lines";
import { volumeQuery } from "./query";

const HEIGHT = 110;
const BARS = 70;

const TOKENS: Record<Level, string> = {
  critical: "--critical",
  error: "--bad",
  warn: "--warn",
  info: "--accent",
  debug: "--text-muted",
  trace: "--border",
  unknown: "--border",
};

export function Volume({ query, onLevel }: { query: string; onLevel: (level: Level) => void }) {
  const shown = range.value;
  theme.value;
  const step = stepSeconds(shown, BARS);
  const asked = useAsk(
    async (signal) =>
      volumes(
        (await askRange(volumeQuery(query, `${step}s`), wholeSteps(shown, step), { step }, signal)).series,
      ),
    [query, shown],
  );
  return (
    <Answer of={asked} lines={3}>
      {({ times, byLevel }) => {
        // A count stands at the end of its step; a bar, in the middle of it.
        const middles = times.map((time) => time - step * 500);
        const levels = LEVELS.filter((level) => byLevel.has(level));
        const total = (level: Level) => byLevel.get(level)!.reduce((sum, value) => sum + value, 0);
        return (
          <>
            <TimeChart
              times={middles}
              height={HEIGHT}
              range={shown}
              min={0}
              label="Lines over time by level"
              onZoom={setRange}
              lines={stacked(levels, byLevel)}
            />
            <div class="row">
              {levels.toReversed().map((level) => (
                <button
                  key={level}
                  type="button"
                  class="button button-quiet"
                  title={`Only ${level}`}
                  disabled={level === "unknown"}
                  onClick={() => onLevel(level)}
                >
                  <span class={`swatch level-${level}`} /> {level}{" "}
                  <span class="muted">{count(total(level))}</span>
                </button>
              ))}
            </div>
          </>
        );
      }}
    </Answer>
  );
}

/** Bars upon bars: the sums are drawn from the highest to the lowest, each before the other. */
function stacked(levels: readonly Level[], byLevel: ReadonlyMap<Level, number[]>): Line[] {
  const lines: Line[] = [];
  let below: number[] = [];
  // The worst stands at the bottom, where small counts can be seen.
  for (const level of levels.toReversed()) {
    const told = byLevel.get(level)!;
    const values = told.map((value, at) => value + (below[at] ?? 0));
    lines.push({ label: level, color: token(TOKENS[level]), values, told, bars: true, fill: 1, width: 0 });
    below = values;
  }
  return lines.reverse();
}
