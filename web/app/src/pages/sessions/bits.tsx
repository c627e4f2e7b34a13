/** Small parts that the pages of sessions share. */
import { Icon, type IconName } from "../../ui/icon";
import type { Status } from "./types";
import "../ci/bits.css";

/** Per second, or per minute or hour where that is little. */
export function perSecond(rate: number): string {
  const digits = (value: number) => String(Number(value.toPrecision(3)));
  if (rate === 0) return "0 /s";
  if (rate >= 0.5) return `${digits(rate)} /s`;
  return rate * 60 >= 0.5 ? `${digits(rate * 60)} /min` : `${digits(rate * 3600)} /h`;
}

type State = "running" | "ended" | "lost";

const STATES: Record<State, { icon: IconName; tone: string; text: string }> = {
  running: { icon: "play", tone: "good", text: "running" },
  ended: { icon: "check", tone: "muted", text: "ended" },
  lost: { icon: "warning", tone: "warn", text: "lost" },
};

/** How a session stands. */
export function SessionState({ state }: { state: State }) {
  const { icon, tone, text } = STATES[state];
  return (
    <span class={`ended ${tone}`} title={state === "lost" ? "Nothing was heard of it for ten minutes" : text}>
      <Icon name={icon} size={14} /> {text}
    </span>
  );
}

const TASKS: Record<Status, { icon: IconName; tone: string }> = {
  created: { icon: "plus", tone: "muted" },
  submitted: { icon: "up", tone: "muted" },
  queued: { icon: "clock", tone: "warn" },
  running: { icon: "play", tone: "accent" },
  completed: { icon: "check", tone: "good" },
  failed: { icon: "error", tone: "bad" },
  canceled: { icon: "minus", tone: "muted" },
  unfinished: { icon: "warning", tone: "warn" },
};

/** How a task stands. */
export function TaskState({ status }: { status: Status }) {
  const { icon, tone } = TASKS[status];
  return (
    <span class={`ended ${tone}`}>
      <Icon name={icon} size={14} /> {status}
    </span>
  );
}
