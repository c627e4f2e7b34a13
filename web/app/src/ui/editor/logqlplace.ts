/** What is being typed in a LogQL query: which kind of thing belongs at the cursor. */

export type LogPlace =
  | { kind: "label"; from: number; selector: string }
  | { kind: "value"; from: number; label: string; quoted: boolean; selector: string }
  | { kind: "operator"; from: number }
  /** A stage or a field to filter by; `selector` is what the lines come from. */
  | { kind: "stage"; from: number; selector: string }
  | { kind: "fieldValue"; from: number; field: string; quoted: boolean; selector: string }
  | { kind: "start"; from: number };

const MATCHER = /([A-Za-z_]\w*)\s*(=~|!~|!=|=)\s*("(?:[^"\\]|\\.)*|`[^`]*)?$/;
const FIELD = /([A-Za-z_]\w*)\s*(=~|!~|!=|==|>=|<=|=|>|<)\s*("(?:[^"\\]|\\.)*|`[^`]*|[\w.-]*)?$/;

/** What belongs at `at` of a query; `undefined` if nothing can be offered there. */
export function placeIn(text: string, at: number): LogPlace | undefined {
  const before = text.slice(0, at);
  const open = openBrace(before);
  if (open !== undefined) return inSelector(before, open);
  const selector = lastSelector(before);
  if (!selector) {
    const word = /[A-Za-z_]\w*$|$/.exec(before)!;
    return { kind: "start", from: word.index };
  }
  const stage = /\|\s*([A-Za-z_]\w*)?$/.exec(before);
  if (stage && !/\|[=~]$/.test(before)) {
    return { kind: "stage", from: at - (stage[1]?.length ?? 0), selector };
  }
  const field = FIELD.exec(before);
  if (field && /\||\band\b|\bor\b/.test(before.slice(before.lastIndexOf("}")))) {
    const typed = field[3] ?? "";
    const quoted = /^["`]/.test(typed);
    return { kind: "fieldValue", from: at - typed.length, field: field[1]!, quoted, selector };
  }
  return undefined;
}

function inSelector(before: string, open: number): LogPlace {
  const inside = before.slice(open + 1);
  const comma = lastComma(inside);
  const current = inside.slice(comma);
  const done = inside.slice(0, Math.max(0, comma - 1)).trim();
  const selector = done === "" ? "" : `{${done}}`;
  const matcher = MATCHER.exec(current);
  if (matcher) {
    const typed = matcher[3] ?? "";
    return {
      kind: "value",
      from: before.length - typed.length,
      label: matcher[1]!,
      quoted: typed !== "",
      selector,
    };
  }
  if (/[A-Za-z_]\w*\s+[=!]?$/.test(current)) {
    return { kind: "operator", from: before.length - (/[=!]$/.test(current) ? 1 : 0) };
  }
  const word = /[A-Za-z_]\w*$/.exec(current);
  return { kind: "label", from: before.length - (word?.[0].length ?? 0), selector };
}

/** Where the brace that is open at the end stands; texts between quotes do not count. */
function openBrace(text: string): number | undefined {
  let open: number | undefined;
  for (const match of text.matchAll(/"(?:[^"\\]|\\.)*"?|`[^`]*`?|[{}]/g)) {
    if (match[0] === "{") open = match.index;
    else if (match[0] === "}") open = undefined;
  }
  return open;
}

/** The place behind the last comma that is not inside quotes. */
function lastComma(text: string): number {
  let at = 0;
  for (const match of text.matchAll(/"(?:[^"\\]|\\.)*"?|`[^`]*`?|,/g)) {
    if (match[0] === ",") at = match.index + 1;
  }
  return at;
}

/** The selector of streams that was typed last. */
export function lastSelector(text: string): string | undefined {
  let [open, found]: [number, string | undefined] = [-1, undefined];
  for (const match of text.matchAll(/"(?:[^"\\]|\\.)*"?|`[^`]*`?|[{}]/g)) {
    if (match[0] === "{") open = match.index;
    else if (match[0] === "}" && open >= 0) found = text.slice(open, match.index + 1);
  }
  return found;
}
