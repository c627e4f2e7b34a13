/** PromQL: Prometheus' own mode, which completes from our API. */
import type { Extension } from "@codemirror/state";
import { PromQLExtension } from "@prometheus-io/codemirror-promql";
import { base } from "../../frame/base";

export function promql(): Extension {
  const remote = { url: `${window.location.origin}${base}prometheus` };
  return new PromQLExtension().activateLinter(false).setComplete({ remote }).asExtension();
}
