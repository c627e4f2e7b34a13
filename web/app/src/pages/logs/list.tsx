/** The list of lines: each can be opened, to see and to filter by what belongs to it. */
import { memo } from "preact/compat";
import { useCallback } from "preact/hooks";
import { href } from "../../frame/base";
import { link, paramAll, setParams } from "../../frame/router";
import { Chunks } from "../../ui/chunks";
import { colorOf } from "../../ui/colors";
import { fullTime, millisOf } from "../../ui/format";
import { Icon } from "../../ui/icon";
import { LineDetail } from "./detail";
import type { LogLine } from "./lines";

export interface LineActions {
  /** Labels of streams; others are fields. */
  streamLabels: readonly string[];
  onFilter: (label: string, operator: "=" | "!=", value: string) => void;
  /** Counts lines by the values of a label or field. */
  onGroup: (label: string) => void;
}

interface LineListProps extends LineActions {
  lines: readonly LogLine[];
  isWrapped: boolean;
  /** Whether lines are added at the beginning. */
  isGrowing?: boolean;
}

const LINE_HEIGHT = 24;
/** Lines that are opened, in the address; beyond so many the first are closed again: addresses are short. */
const OPEN = "line";
const MOST_OPEN = 20;

export function LineList({ lines, isWrapped, isGrowing, ...actions }: LineListProps) {
  const open = new Set(paramAll(OPEN));
  const toggle = useCallback((key: string) => {
    const before = paramAll(OPEN);
    const after = before.includes(key) ? before.filter((one) => one !== key) : [...before, key];
    setParams({ [OPEN]: after.slice(-MOST_OPEN) }, { replace: true });
  }, []);
  return (
    <div class={isWrapped ? "lines lines-wrapped" : "lines"} role="list" aria-label="Lines">
      <Chunks items={lines} itemKey={({ key }) => key} guess={LINE_HEIGHT} fromEnd={isGrowing}>
        {(line) => (
          <>
            <LineRow line={line} isOpen={open.has(line.key)} onToggle={toggle} />
            {open.has(line.key) && <LineDetail line={line} {...actions} />}
          </>
        )}
      </Chunks>
    </div>
  );
}

/** What a level is called in the list: of one width, so that it is no matter of colour alone. */
const SHORT = {
  critical: "CRIT",
  error: "ERROR",
  warn: "WARN",
  info: "INFO",
  debug: "DEBUG",
  trace: "TRACE",
  unknown: "–",
};

interface LineRowProps {
  line: LogLine;
  isOpen: boolean;
  onToggle: (key: string) => void;
}

const LineRow = memo(function LineRow({ line, isOpen, onToggle }: LineRowProps) {
  const { labels } = line;
  const service = labels.service_name ?? labels.job ?? labels.app ?? "";
  return (
    <div class={`line line-${line.level}`}>
      <button
        type="button"
        class="line-open"
        aria-expanded={isOpen}
        aria-label="What belongs to this line"
        onClick={() => onToggle(line.key)}
      >
        <Icon name={isOpen ? "down" : "right"} size={12} />
      </button>
      <time class="line-time">{fullTime(millisOf(line.nanos)).slice(11)}</time>
      <span class={`line-level level-text-${line.level}`}>{SHORT[line.level]}</span>
      <span class="line-service ellipsis" title={service}>
        {service && <span class="swatch" style={{ background: colorOf(service) }} />} {service}
      </span>
      <span
        class="line-text"
        onClick={() => window.getSelection()?.isCollapsed !== false && onToggle(line.key)}
      >
        {line.text || labels.event_name}
      </span>
      {labels.trace_id && (
        <a
          class="line-trace"
          href={href(link(`/trace/${labels.trace_id}`, { span: labels.span_id }))}
          title="Open its trace"
        >
          <Icon name="traces" size={13} /> trace
        </a>
      )}
    </div>
  );
});
