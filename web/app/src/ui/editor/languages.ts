/** The languages of the editor, with what completes them. */
import { json } from "@codemirror/lang-json";
import type { Extension } from "@codemirror/state";
import type { Language } from "./index";
import { logql } from "./logql";
import { promql } from "./promql";
import { sql } from "./sql";
import { traceql } from "./traceql";

export function languageOf(language: Language): Extension {
  switch (language) {
    case "traceql":
      return traceql();
    case "promql":
      return promql();
    case "logql":
      return logql();
    case "sql":
      return sql();
    case "json":
      return json();
  }
}
