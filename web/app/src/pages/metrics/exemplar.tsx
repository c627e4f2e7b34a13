/** What can be done with an exemplar: its trace, the logs of that, and the host that its series is of. */
import { useEffect, useRef } from "preact/hooks";
import { href } from "../../frame/base";
import { link } from "../../frame/router";
import { Button } from "../../ui/button";
import { fullTime } from "../../ui/format";
import { quote } from "../../ui/quote";
import { hostAt } from "../hosts/at";
import type { Exemplar } from "./ask";

/** Logs of a trace come before and after the moment that its exemplar is of. */
const LOGS_MARGIN_MILLIS = 900_000;

/** Labels that name a host. `instance` is none: of a service it is a process. */
const HOST_LABELS = ["host_name", "Hostname", "hostname", "k8s_node_name", "node"];

/** The host that an exemplar or its series names. */
export function hostOf({ labels, series }: Pick<Exemplar, "labels" | "series">): string | undefined {
  for (const label of HOST_LABELS) {
    const host = series[label] || labels[label];
    if (host) return host;
  }
  return undefined;
}

export function traceOf({ labels }: Pick<Exemplar, "labels">): { trace?: string; span?: string } {
  return { trace: labels.trace_id ?? labels.traceID, span: labels.span_id ?? labels.spanID };
}

/** The logs of a trace around a moment, in seconds. */
export function logsOf(trace: string, seconds: number): string {
  const millis = Math.round(seconds * 1000);
  return link("/explore/logs", {
    q: `{service_name=~".+"} | trace_id=${quote(trace)}`,
    from: millis - LOGS_MARGIN_MILLIS,
    to: millis + LOGS_MARGIN_MILLIS,
  });
}

/** An exemplar that was clicked, and where. */
export interface Clicked {
  exemplar: Exemplar;
  trace: string;
  span?: string;
  value: string;
  left: number;
  top: number;
}

export function ExemplarPopover({ of, close }: { of: Clicked; close: () => void }) {
  const root = useRef<HTMLDivElement>(null);
  const newest = useRef(close);
  newest.current = close;
  useEffect(() => {
    const outside = (event: Event) => {
      if (!event.composedPath().includes(root.current!)) newest.current();
    };
    const pressed = (event: KeyboardEvent) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      newest.current();
    };
    document.addEventListener("pointerdown", outside);
    document.addEventListener("keydown", pressed, true);
    root.current?.querySelector<HTMLElement>("a")?.focus();
    return () => {
      document.removeEventListener("pointerdown", outside);
      document.removeEventListener("keydown", pressed, true);
    };
  }, []);
  const { exemplar, trace, span, value } = of;
  const host = hostOf(exemplar);
  return (
    <div
      ref={root}
      class="popover"
      role="dialog"
      aria-label="Exemplar"
      style={{ left: `${of.left}px`, top: `${of.top}px` }}
    >
      <p>
        <b>{value}</b> <span class="muted">{fullTime(exemplar.timestamp * 1000)}</span>{" "}
        <code>{trace.slice(0, 8)}</code>
      </p>
      <div class="row">
        <a class="button" href={href(link(`/trace/${trace}`, { span }))}>
          Open
        </a>
        <a class="button" href={href(logsOf(trace, exemplar.timestamp))}>
          Logs
        </a>
        {host && (
          <a class="button" href={href(hostAt(host, exemplar.timestamp * 1000))}>
            Host {host}
          </a>
        )}
        <Button kind="quiet" icon="close" label="Close" onClick={close} />
      </div>
    </div>
  );
}
