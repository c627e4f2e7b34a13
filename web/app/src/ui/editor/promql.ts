/** PromQL: Prometheus' own mode, which completes from our API. */
import type { Extension } from "@codemirror/state";
import { PromQLExtension } from "@prometheus-io/codemirror-promql";
import { ask } from "../../frame/api";

export function promql(): Extension {
  const remote = { url: "/prometheus", fetchFn };
  return new PromQLExtension().activateLinter(false).setComplete({ remote }).asExtension();
}

/** Its questions go as all others do: with the token and the tenant. */
function fetchFn(path: RequestInfo, init?: RequestInit): Promise<Response> {
  return ask(String(path), init);
}
