/** LogQL. */
import { LanguageSupport, LRLanguage } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { parser } from "@grafana/lezer-logql";

export function logql(): Extension {
  return new LanguageSupport(LRLanguage.define({ name: "logql", parser }));
}
