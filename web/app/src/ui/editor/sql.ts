/** SQL: words of the language in colour; names of tables, columns and functions are completed. */
import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { LanguageSupport, StreamLanguage } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { sendJson } from "../../frame/api";
import { remembered } from "./remember";
import { nameBefore, tablesOf } from "./sqlnames";

const WORDS = new Set(
  "select from where group by order limit offset as on join left right inner outer full cross using and or not in is null between like ilike case when then else end distinct union all having with recursive asc desc over partition filter exists interval timestamp true false cast".split(
    " ",
  ),
);
const FUNCTIONS = [
  "count(*)",
  "avg(",
  "min(",
  "max(",
  "sum(",
  "approx_percentile_cont(",
  "date_bin(interval '1 minute', ",
  "date_trunc('hour', ",
  "now()",
];

export function sql(): Extension {
  const language = StreamLanguage.define({
    name: "sql",
    token(stream) {
      if (stream.eatSpace()) return null;
      if (stream.match(/^--.*/)) return "comment";
      if (stream.match(/^'(?:[^']|'')*'?/)) return "string";
      if (stream.match(/^"(?:[^"]|"")*"?/)) return "propertyName";
      if (stream.match(/^\d+(\.\d+)?|^\$\w+/)) return "number";
      const word = stream.match(/^[A-Za-z_][A-Za-z0-9_]*/) as RegExpMatchArray | null;
      if (word) return WORDS.has(word[0].toLowerCase()) ? "keyword" : null;
      stream.next();
      return null;
    },
  });
  return new LanguageSupport(language, language.data.of({ autocomplete: complete }));
}

/** A column of a table, as the server names it. */
export interface SqlColumn {
  table: string;
  column: string;
  type: string;
}

const COLUMNS =
  "select table_name, column_name, data_type from information_schema.columns where table_schema = 'public' and table_name not like 'pg%' order by table_name, ordinal_position";

/** All columns of the tables with telemetry. */
export function sqlColumns(): Promise<readonly SqlColumn[]> {
  return remembered("sql columns", async () => {
    const answer = await sendJson<{ rows: [string, string, string][] }>("POST", "/api/sql", {
      query: COLUMNS,
    });
    return answer.rows.map(([table, column, type]) => ({ table, column, type }));
  }, []);
}

async function complete(context: CompletionContext): Promise<CompletionResult | null> {
  const text = context.state.doc.toString();
  const name = nameBefore(text, context.pos);
  if (!name || (name.typed === "" && !name.table && !context.explicit)) return null;
  const columns = await sqlColumns();
  const tables = [...new Set(columns.map(({ table }) => table))];
  const asked = tablesOf(text, tables);
  const wanted = name.table ? [asked.get(name.table) ?? name.table] : [...asked.values()];
  const offered: Completion[] = columns
    .filter(({ table }) => wanted.length === 0 || wanted.includes(table))
    .map(({ table, column, type }) => ({
      label: column,
      detail: `${table}, ${type}`,
      type: "property",
      boost: 2,
    }));
  if (!name.table) {
    offered.push(...tables.map((label) => ({ label, detail: "table", type: "class", boost: 1 })));
    offered.push(...FUNCTIONS.map((label) => ({ label, type: "function" })));
    offered.push(...[...WORDS].map((label) => ({ label, type: "keyword" })));
  }
  const unique = new Map(offered.map((one) => [one.label, one]));
  return { from: name.from, options: [...unique.values()], validFor: /^\w*$/ };
}
