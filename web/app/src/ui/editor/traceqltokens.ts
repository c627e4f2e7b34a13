/**
 * TraceQL as words, for completion and for the builder. It takes any text, also one that is half typed;
 * whether a query is right is for the server to say.
 */

export type TokenKind = "text" | "number" | "word" | "operator" | "bracket" | "other";

export interface Token {
  kind: TokenKind;
  text: string;
  from: number;
  to: number;
}

const PARTS: readonly (readonly [TokenKind | "space", RegExp])[] = [
  ["space", /\s+/y],
  ["text", /"(?:[^"\\]|\\[\s\S])*"?|`[^`]*`?/y],
  ["number", /-?\d[\w.µ]*/y],
  ["word", /[A-Za-z_.][\w.:/-]*(?:(?<=\.)"(?:[^"\\]|\\.)*"?)?/y],
  ["operator", /&&|\|\||!=|!~|=~|>=|<=|&>>|&<<|!>>|!<<|>>|<<|!>|!<|&>|&<|&~|[=<>~|!+*/%^-]/y],
  ["bracket", /[(){}]/y],
];

/** The words of a query, without the space between them. */
export function tokens(text: string): Token[] {
  const found: Token[] = [];
  let at = 0;
  while (at < text.length) {
    let kind: TokenKind | "space" = "other";
    let to = at + 1;
    for (const [name, pattern] of PARTS) {
      pattern.lastIndex = at;
      const match = pattern.exec(text);
      if (!match || match[0] === "") continue;
      [kind, to] = [name, at + match[0].length];
      break;
    }
    if (kind !== "space") found.push({ kind, text: text.slice(at, to), from: at, to });
    at = to;
  }
  return found;
}

/** Operators that stand between a field and a value. */
export const COMPARISONS: readonly string[] = ["=", "!=", ">", ">=", "<", "<=", "=~", "!~"];

/** A text between quotes. */
export function quote(text: string): string {
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")}"`;
}

/** The text that a quoted one stands for. */
export function unquote(text: string): string {
  if (text.startsWith("`")) return text.slice(1, text.endsWith("`") && text.length > 1 ? -1 : undefined);
  if (!text.startsWith('"')) return text;
  const inner = text.slice(1, text.endsWith('"') && text.length > 1 ? -1 : undefined);
  return inner.replace(/\\(.)/g, (_, one: string) => (one === "n" ? "\n" : one === "t" ? "\t" : one));
}

/** A field of a scope: names with other characters than usual are quoted. */
export function fieldName(scope: string, name: string): string {
  if (scope === "intrinsic" || scope === "") return name;
  return /^[\w.:/-]+$/.test(name) ? `${scope}.${name}` : `${scope}.${quote(name)}`;
}
