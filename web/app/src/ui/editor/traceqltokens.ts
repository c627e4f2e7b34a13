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
