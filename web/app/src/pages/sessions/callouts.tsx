/** What stands out in a session: stragglers, GPUs that do nothing, failures. */
import type { ComponentChildren } from "preact";
import { href } from "../../frame/base";
import { link, paramAll, setParams } from "../../frame/router";
import { Button } from "../../ui/button";
import { count } from "../../ui/format";
import { Icon } from "../../ui/icon";
import { Card } from "../../ui/page";
import { Cut, seconds } from "../ci/bits";
import type { Board } from "./types";

const SHOWN = 8;
/** The server tells no more of each: there may be more where there are so many. */
const MOST_TOLD = 50;
/** What is shown whole, in the address. */
const ALL = "all";

/** How many there are, as far as is told. */
export function numberOf(list: readonly unknown[]): string {
  return list.length < MOST_TOLD ? String(list.length) : `${list.length} or more`;
}

/** The first of a list, or all of it if that is asked for: `name` stands for it in the address. */
function Listed<Item>(props: {
  name: string;
  items: readonly Item[];
  children: (item: Item) => ComponentChildren;
}) {
  const { name, items, children } = props;
  const whole = paramAll(ALL);
  const isWhole = whole.includes(name);
  const change = () => {
    const all = isWhole ? whole.filter((one) => one !== name) : [...whole, name];
    setParams({ [ALL]: all }, { replace: true });
  };
  return (
    <>
      <ul class="callouts">{items.slice(0, isWhole ? items.length : SHOWN).map(children)}</ul>
      {items.length > SHOWN && (
        <div class="callout-more">
          <Button kind="quiet" icon={isWhole ? "up" : "down"} onClick={change}>
            {isWhole ? `The first ${SHOWN}` : `Show ${items.length}`}
          </Button>
        </div>
      )}
    </>
  );
}

export function Stragglers({ board }: { board: Board }) {
  const { stragglers, stragglers_total: total } = board;
  return (
    <Card title={`Stragglers (${count(total)})`}>
      {stragglers.length === 0 ? (
        <p class="muted callout-none">No task takes three times as long as others of its name.</p>
      ) : (
        <Listed name="stragglers" items={stragglers}>
          {(task) => (
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
          )}
        </Listed>
      )}
      <Cut
        listed={stragglers.length}
        total={total}
        what="stragglers"
        which="those that run and the longest of the others"
      />
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
    <Card title={`Idle GPUs (${numberOf(idle)}${known > 0 ? ` of ${known}` : ""})`}>
      {idle.length === 0 ? (
        <p class="muted callout-none">
          {known > 0 ? "No GPU has done nothing for a minute." : "Nothing is known of GPUs."}
        </p>
      ) : (
        <Listed name="idle" items={idle}>
          {(gpu) => (
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
          )}
        </Listed>
      )}
    </Card>
  );
}

export function Failures({ board }: { board: Board }) {
  if (board.failures.length === 0) return null;
  return (
    <Card title={`Failures by error (${numberOf(board.failures)})`}>
      <Listed name="failures" items={board.failures}>
        {(failure) => (
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
        )}
      </Listed>
    </Card>
  );
}
