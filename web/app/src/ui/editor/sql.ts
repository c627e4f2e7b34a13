/** SQL: words of the language in colour; names of tables and columns are completed. */
import { StreamLanguage } from "@codemirror/language";
import type { Extension } from "@codemirror/state";

const WORDS = new Set(
  "select from where group by order limit offset as on join left right inner outer full cross using and or not in is null between like ilike case when then else end distinct union all having with recursive asc desc over partition filter exists interval timestamp true false cast".split(
    " ",
  ),
);

export function sql(): Extension {
  return StreamLanguage.define({
    name: "sql",
    token(stream) {
      if (stream.eatSpace()) return null;
      if (stream.match(/^--.*/)) return "comment";
      if (stream.match(/^'(?:[^']|'')*'?/)) return "string";
      if (stream.match(/^"(?:[^"]|"")*"?/)) return "propertyName";
      if (stream.match(/^\d+(\.\d+)?/)) return "number";
      const word = stream.match(/^[A-Za-z_][A-Za-z0-9_]*/) as RegExpMatchArray | null;
      if (word) return WORDS.has(word[0].toLowerCase()) ? "keyword" : null;
      stream.next();
      return null;
    },
  });
}
