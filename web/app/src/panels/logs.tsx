/** Lines of logs, newest first, with their level and their labels. */
import { Fragment } from "preact";
import { useMemo } from "preact/hooks";
import { LEVEL_LABELS, type Level, levelOf } from "../ui/level";
import { type Cell, type Field, type Frame, option, rowsOf, textOf, timeOf } from "./frame";
import type { PanelProps } from "./kinds";
import { NoData } from "./nodata";
import { useRemembered } from "./remembered";
import { distinct } from "./series";
import { zonedFull, zonedTime } from "./zone";

interface LogLine {
  /** What stays with it when newer lines come. */
  key: string;
  at: number;
  text: string;
  level: Level;
  labels: Record<string, string>;
}

const MOST_LINES = 1000;
/** Columns that say how bad a line is. */
const LEVEL_COLUMNS: readonly string[] = [...LEVEL_LABELS, "severity_number"];

export function Logs({ panel, frames }: PanelProps) {
  const isAscending = option(panel.options, "sortOrder", "Descending") === "Ascending";
  const lines = useMemo(() => linesOf(frames, isAscending), [frames, isAscending]);
  const [open, setOpen] = useRemembered<string | undefined>("open line", () => undefined);
  if (lines.length === 0) return <NoData frames={frames} />;
  const showsTime = option(panel.options, "showTime", true);
  const showsLabels = option(panel.options, "showLabels", false);
  const isWrapped = option(panel.options, "wrapLogMessage", true);
  return (
    <div
      class={isWrapped ? "log-lines" : "log-lines log-unwrapped"}
      tabIndex={0}
      role="log"
      aria-label={panel.title}
    >
      {lines.slice(0, MOST_LINES).map((line) => (
        <div key={line.key} class={`log-line log-${line.level}`}>
          <button
            type="button"
            class="log-text"
            aria-expanded={open === line.key}
            onClick={() => setOpen(open === line.key ? undefined : line.key)}
          >
            {showsTime && <time class="muted">{zonedTime(line.at)} </time>}
            {line.level !== "unknown" && <b class={`log-level-${line.level}`}>{line.level} </b>}
            {showsLabels && (
              <span class="muted">
                {Object.entries(line.labels)
                  .map(([name, value]) => `${name}=${value}`)
                  .join(" ")}{" "}
              </span>
            )}
            {line.text}
          </button>
          {open === line.key && (
            <dl class="attributes log-details">
              <dt>time</dt>
              <dd>{zonedFull(line.at)}</dd>
              {Object.entries(line.labels).map(([name, value]) => (
                <Fragment key={name}>
                  <dt>{name}</dt>
                  <dd>{value}</dd>
                </Fragment>
              ))}
            </dl>
          )}
        </div>
      ))}
      {lines.length > MOST_LINES && <p class="muted">{lines.length - MOST_LINES} more lines</p>}
    </div>
  );
}

/** The lines of frames: a column of times and one of texts, as Loki's answers have them. */
export function linesOf(frames: readonly Frame[], isAscending: boolean): LogLine[] {
  const lines: LogLine[] = [];
  const keyOf = distinct();
  for (const frame of frames) {
    const at = timeOf(frame);
    const named = (...names: string[]) => frame.fields.find(({ name }) => names.includes(name));
    const body =
      named("Line", "line", "body", "message") ?? frame.fields.find(({ type }) => type === "string");
    if (!at || !body) continue;
    const labels = named("labels", "attributes");
    const levels = frame.fields.filter(({ name }) => LEVEL_COLUMNS.includes(name));
    for (let row = 0; row < rowsOf(frame); row += 1) {
      const own = { ...body.labels, ...labelsOf(labels?.values[row]) };
      const text = textOf(body.values[row]);
      lines.push({
        key: keyOf(`${at.values[row]} ${text}`),
        at: Number(at.values[row]),
        text,
        level: levelOf({ ...own, ...saidOf(levels, row) }),
        labels: own,
      });
    }
  }
  return lines.sort((a, b) => (isAscending ? a.at - b.at : b.at - a.at));
}

/** What columns say of how bad a line is, as labels. Numbers are those of OpenTelemetry, whatever their name. */
function saidOf(columns: readonly Field[], row: number): Record<string, string> {
  return Object.fromEntries(
    columns.map(({ name, type, values }) => [
      type === "number" ? "severity_number" : name,
      textOf(values[row]),
    ]),
  );
}

function labelsOf(cell: Cell): Record<string, string> {
  if (cell === null || typeof cell !== "object") return {};
  return Object.fromEntries(Object.entries(cell).map(([name, value]) => [name, textOf(value as Cell)]));
}
