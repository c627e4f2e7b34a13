/** TraceQL. */
import { LanguageSupport, LRLanguage } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { parser } from "@grafana/lezer-traceql";

export function traceql(): Extension {
  return new LanguageSupport(LRLanguage.define({ name: "traceql", parser }));
}
