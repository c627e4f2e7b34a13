/** What belongs to a line: its labels and fields, to filter by or to leave out, and the lines around it. */
import { useState } from "preact/hooks";
import { href } from "../../frame/base";
import { link } from "../../frame/router";
import { useAsk } from "../../frame/useask";
import { Button, CopyButton } from "../../ui/button";
import { fullTime, millisOf } from "../../ui/format";
import { Answer } from "../../ui/states";
import { hostAt } from "../hosts/at";
import { around } from "./ask";
import type { LogLine } from "./lines";
import type { LineActions } from "./list";

const LINES_AROUND = 20;

export function LineDetail({ line, streamLabels, onFilter, onGroup }: LineActions & { line: LogLine }) {
  const [isAround, setAround] = useState(false);
  const { trace_id: trace, span_id: span, host_name: host } = line.labels;
  const names = Object.keys(line.labels).sort(
    (a, b) => Number(streamLabels.includes(b)) - Number(streamLabels.includes(a)) || a.localeCompare(b),
  );
  return (
    <div class="line-detail">
      <div class="row">
        {trace && (
          <a class="button button-plain" href={href(link(`/trace/${trace}`, { span }))}>
            {span ? "Open its span" : "Open its trace"}
          </a>
        )}
        {host && (
          <a class="button button-plain" href={href(hostAt(host, millisOf(line.nanos)))}>
            Host {host}
          </a>
        )}
        <Button pressed={isAround} onClick={() => setAround(!isAround)}>
          Lines around it
        </Button>
        <CopyButton text={line.text} label="Copy the line">
          Copy
        </CopyButton>
        <span class="muted">{fullTime(millisOf(line.nanos))}</span>
      </div>
      <pre class="line-whole">{line.text}</pre>
      <dl class="line-labels">
        {names.map((name) => (
          <div key={name} class="line-label">
            <span class="line-actions">
              <Button
                kind="quiet"
                icon="plus"
                label={`Only ${name} = ${line.labels[name]}`}
                onClick={() => onFilter(name, "=", line.labels[name]!)}
              />
              <Button
                kind="quiet"
                icon="minus"
                label={`Without ${name} = ${line.labels[name]}`}
                onClick={() => onFilter(name, "!=", line.labels[name]!)}
              />
              <Button
                kind="quiet"
                icon="metrics"
                label={`Count lines by ${name}`}
                onClick={() => onGroup(name)}
              />
            </span>
            <dt title={streamLabels.includes(name) ? "label of the stream" : "field of the line"}>{name}</dt>
            <dd>{line.labels[name]}</dd>
          </div>
        ))}
      </dl>
      {isAround && <Around line={line} streamLabels={streamLabels} />}
    </div>
  );
}

function Around({ line, streamLabels }: { line: LogLine; streamLabels: readonly string[] }) {
  const asked = useAsk((signal) => around(line, streamLabels, LINES_AROUND, signal), [line.key]);
  return (
    <Answer of={asked} lines={5}>
      {(lines) => (
        <div class="around" role="list" aria-label="Lines around it, the newest first">
          {lines.map((one) => (
            <div
              key={one.key}
              role="listitem"
              class={
                one.nanos === line.nanos && one.text === line.text ? "around-line around-this" : "around-line"
              }
            >
              <time class="line-time">{fullTime(millisOf(one.nanos)).slice(11)}</time>
              <span class={`line-level level-text-${one.level}`}>{one.level}</span>
              <span class="line-text">{one.text || one.labels.event_name}</span>
            </div>
          ))}
        </div>
      )}
    </Answer>
  );
}
