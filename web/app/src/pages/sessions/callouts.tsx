/** What stands out in a session: stragglers, GPUs that do nothing, failures. */
import { href } from "../../frame/base";
import { link, setParams } from "../../frame/router";
import { Icon } from "../../ui/icon";
import { Card } from "../../ui/page";
import { seconds } from "../ci/bits";
import type { Board } from "./types";

const SHOWN = 8;

export function Stragglers({ board }: { board: Board }) {
  const { stragglers } = board;
  return (
    <Card title={`Stragglers (${stragglers.length})`}>
      {stragglers.length === 0 ? (
        <p class="muted callout-none">No task takes three times as long as others of its name.</p>
      ) : (
        <ul class="callouts">
          {stragglers.slice(0, SHOWN).map((task) => (
            <li key={task.id}>
              <Icon name={task.is_running ? "play" : "clock"} size={14} />
              <button
                type="button"
                class="callout-name ellipsis"
                title={task.is_running ? "It still runs; show it below" : "Show it below"}
                onClick={() =>
                  setParams({ q: task.id, state: undefined, offset: undefined }, { replace: true })
                }
              >
                {task.name} <span class="muted">{task.id}</span>
              </button>
              <b class={task.is_running ? "warn" : ""}>{task.times_median.toFixed(1)} × median</b>
              <span class="muted callout-where" title={task.node ? `on ${task.node}` : undefined}>
                {seconds(task.seconds)}
              </span>
              {board.session.trace_id && task.span_id && (
                <a href={href(link(`/trace/${board.session.trace_id}`, { span: task.span_id }))}>trace</a>
              )}
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

export function IdleGpus({ board }: { board: Board }) {
  const { idle_gpus: idle } = board;
  const { start_ms: start, state } = board.session;
  const isNow = state === "running" && !board.is_replay;
  const time = { from: start ?? board.replay.start_ms, to: isNow ? "now" : board.at_ms };
  const known = board.lanes.nodes.reduce((sum, node) => sum + node.gpus.length, 0);
  return (
    <Card title={`Idle GPUs (${idle.length}${known > 0 ? ` of ${known}` : ""})`}>
      {idle.length === 0 ? (
        <p class="muted callout-none">
          {known > 0 ? "No GPU has done nothing for a minute." : "Nothing is known of GPUs."}
        </p>
      ) : (
        <ul class="callouts">
          {idle.slice(0, SHOWN).map((gpu) => (
            <li key={`${gpu.node} ${gpu.gpu}`}>
              <Icon name="warning" size={14} />
              <a
                class="callout-name ellipsis"
                href={href(link(`/host/${encodeURIComponent(gpu.node)}`, time))}
              >
                {gpu.node} {gpu.gpu === null ? "all GPUs" : `GPU ${gpu.gpu}`}
              </a>
              <b class="warn">idle for {seconds(gpu.seconds)}</b>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

export function Failures({ board }: { board: Board }) {
  if (board.failures.length === 0) return null;
  return (
    <Card title="Failures by error">
      <ul class="callouts">
        {board.failures.slice(0, SHOWN).map((failure) => (
          <li key={failure.error_type}>
            <Icon name="error" size={14} />
            <button
              type="button"
              class="callout-name ellipsis"
              title={failure.message ?? ""}
              onClick={() =>
                setParams(
                  {
                    q: failure.error_type === "unknown" ? undefined : failure.error_type,
                    state: "failed",
                    offset: undefined,
                  },
                  { replace: true },
                )
              }
            >
              {failure.error_type} <span class="muted">{failure.message}</span>
            </button>
            <b class="bad">{failure.count}</b>
          </li>
        ))}
      </ul>
    </Card>
  );
}
