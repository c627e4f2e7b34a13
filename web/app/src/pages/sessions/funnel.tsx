/** Where the tasks of a session stand, from those that are known to those that ended. */
import { param, setParams } from "../../frame/router";
import { count, percent } from "../../ui/format";
import type { Funnel as Told } from "./types";

interface Stage {
  id: string;
  label: string;
  number: number;
  tone?: string;
  /** States that the table shows for it; without any, all tasks. */
  states?: string;
}

function stages(funnel: Told): Stage[] {
  const all: Stage[] = [
    { id: "created", label: "Created", number: funnel.created },
    { id: "submitted", label: "Submitted", number: funnel.submitted, states: "handed_over" },
    { id: "queued", label: "Queued", number: funnel.queued, states: "submitted,queued", tone: "warn" },
    { id: "running", label: "Running", number: funnel.running, states: "running", tone: "accent" },
    { id: "completed", label: "Completed", number: funnel.completed, states: "completed", tone: "good" },
    { id: "failed", label: "Failed", number: funnel.failed, states: "failed", tone: "bad" },
    { id: "canceled", label: "Canceled", number: funnel.canceled, states: "canceled" },
  ];
  if (funnel.unfinished > 0)
    all.push({
      id: "unfinished",
      label: "Unfinished",
      number: funnel.unfinished,
      states: "unfinished",
      tone: "warn",
    });
  return all;
}

export function Funnel({ funnel }: { funnel: Told }) {
  const chosen = param("state") ?? "";
  return (
    <ol class="funnel" aria-label="Tasks by state">
      {stages(funnel).map((stage) => {
        const part = funnel.created > 0 ? stage.number / funnel.created : 0;
        const isChosen = stage.states !== undefined && stage.states === chosen;
        const next = isChosen ? undefined : stage.states;
        return (
          <li key={stage.id}>
            <button
              type="button"
              class={`funnel-stage ${stage.number > 0 ? (stage.tone ?? "") : "muted"}`}
              aria-pressed={isChosen}
              title={`${percent(part)} of all; shows these tasks below`}
              onClick={() => setParams({ state: next, offset: undefined }, { replace: true })}
            >
              <span class="funnel-label">{stage.label}</span>
              <span class="funnel-number">{count(stage.number)}</span>
              <span class="funnel-bar" aria-hidden="true">
                <span style={{ width: `${part * 100}%` }} />
              </span>
            </button>
          </li>
        );
      })}
    </ol>
  );
}
