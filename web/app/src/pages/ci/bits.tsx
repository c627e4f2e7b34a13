/** Small parts that all pages of CI share: how something ended, changes, rates, links. */
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { href } from "../../frame/base";
import { link, param, setParams } from "../../frame/router";
import { count, duration, percent } from "../../ui/format";
import { Icon, type IconName } from "../../ui/icon";
import { Warning } from "../../ui/states";
import "./bits.css";
import type { LastRun } from "./types";

/** Seconds as people read them; a dash for nothing. */
export function seconds(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  return value === 0 ? "0 s" : duration(value * 1e9);
}

/** A part of one. */
export function rate(value: number | null | undefined): string {
  return value === null || value === undefined ? "–" : percent(value);
}

/** Minutes of runners. */
export function minutes(value: number): string {
  return value === 0 ? "0 m" : duration(value * 60e9);
}

type Tone = "good" | "bad" | "warn" | "muted";

/** What GitHub's words for an end look like. */
export function look(conclusion: string | null): { icon: IconName; tone: Tone; text: string } {
  switch (conclusion) {
    case null:
      return { icon: "play", tone: "warn", text: "running" };
    case "success":
      return { icon: "check", tone: "good", text: "success" };
    case "failure":
    case "timed_out":
    case "startup_failure":
      return { icon: "error", tone: "bad", text: conclusion.replaceAll("_", " ") };
    default:
      return { icon: "minus", tone: "muted", text: conclusion.replaceAll("_", " ") };
  }
}

/** How something ended, by icon and word. */
export function Ended({ conclusion, short }: { conclusion: string | null; short?: boolean }) {
  const { icon, tone, text } = look(conclusion);
  return (
    <span class={`ended ${tone}`} title={text}>
      <Icon name={icon} size={14} />
      {short ? <span class="hidden">{text}</span> : text}
    </span>
  );
}

/** How much more something is than before: red if that is worse. */
export function Change({ value, worse = "up" }: { value: number | null; worse?: "up" | "down" }) {
  if (value === null) return <span class="muted">–</span>;
  const rounded = Math.round(value * 1000) / 10;
  if (Math.abs(rounded) < 0.5) return <span class="muted">±0 %</span>;
  const isWorse = value > 0 === (worse === "up");
  const sign = rounded > 0 ? "+" : "−";
  return (
    <span class={isWorse ? "bad" : "good"}>
      {sign}
      {Math.abs(rounded).toFixed(Math.abs(rounded) < 10 ? 1 : 0)} %
    </span>
  );
}

/** A difference of seconds, with its sign. */
export function Delta({ value }: { value: number | null }) {
  if (value === null) return <span class="muted">–</span>;
  if (Math.abs(value) < 0.5) return <span class="muted">±0</span>;
  return (
    <span class={value > 0 ? "bad" : "good"}>
      {value > 0 ? "+" : "−"}
      {seconds(Math.abs(value))}
    </span>
  );
}

/** That a list has not all that there is, and which it has; nothing where it has all. */
export function Cut(props: { listed: number; total: number; what: string; which: string }) {
  const { listed, total, what, which } = props;
  if (listed >= total) return null;
  return (
    <Warning>
      {count(listed)} of {count(total)} {what} are listed: {which}.
    </Warning>
  );
}

/** The path of a run's page. */
export function runPath(traceId: string): string {
  return link(`/ci/run/${encodeURIComponent(traceId)}`);
}

/** The address of a run's page. */
export function runLink(traceId: string): string {
  return href(runPath(traceId));
}

/** The path of a workflow's page, over the time that is shown. */
export function pipelinePath(workflow: string, repository: string | null): string {
  const params = { workflow, repository, from: param("from"), to: param("to"), branch: param("branch") };
  return link("/ci/pipeline", params);
}

/** The address of a workflow's page. */
export function pipelineLink(workflow: string, repository: string | null): string {
  return href(pipelinePath(workflow, repository));
}

/** A span in its trace. */
export function SpanLink({
  trace,
  span,
  children,
}: {
  trace: string;
  span: string;
  children: ComponentChildren;
}) {
  return <a href={href(link(`/trace/${trace}`, { span }))}>{children}</a>;
}

/** The last runs as bars that lead to them. */
export function RunBars({ runs, width = 196 }: { runs: readonly LastRun[]; width?: number }) {
  const longest = Math.max(...runs.map((run) => run.seconds), 1);
  return (
    <span class="ci-bars" style={{ width }}>
      {runs.map((run) => (
        <a
          key={run.trace_id}
          href={runLink(run.trace_id)}
          class={`ci-bar ci-bar-${look(run.conclusion).tone}`}
          title={`${look(run.conclusion).text}, ${seconds(run.seconds)}${run.branch ? `, ${run.branch}` : ""}`}
          aria-label={`Run ${run.run_id ?? ""}, ${look(run.conclusion).text}, ${seconds(run.seconds)}`}
        >
          <span style={{ height: `${Math.max(12, (run.seconds / longest) * 100)}%` }} />
        </a>
      ))}
    </span>
  );
}

/** Runs of CI are looked at by the week: so begins a page whose address says nothing. */
export function useWeek(): void {
  useEffect(() => {
    if (param("from") === undefined) setParams({ from: "now-7d", to: "now" }, { replace: true });
  }, []);
}
