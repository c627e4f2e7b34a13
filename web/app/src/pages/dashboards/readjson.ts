/** JSON that somebody types, or why it cannot be taken. */

export type Expected = "object" | "list" | "any";

export interface Unreadable {
  message: string;
  /** Where, in characters from the beginning. */
  position?: number;
}

const WORDS = { object: "an object: { … }", list: "a list: [ … ]" } as const;

export function readJson(
  text: string,
  expected: Expected = "any",
): { value: unknown } | { error: Unreadable } {
  try {
    const value: unknown = JSON.parse(text);
    if (expected === "any" || kindOf(value) === expected) return { value };
    return { error: { message: `expected ${WORDS[expected]}` } };
  } catch (error) {
    const { message } = error as Error;
    const position = /position (\d+)/.exec(message)?.[1];
    return { error: { message, position: position === undefined ? undefined : Number(position) } };
  }
}

function kindOf(value: unknown): Expected {
  if (Array.isArray(value)) return "list";
  return value !== null && typeof value === "object" ? "object" : "any";
}
