/** Data sources and kinds of panels: those of the page are those of the server. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import "./panels-browser";
import { SOURCES } from "../src/pages/dashboards/create";
import { KINDS, viewOf } from "../src/panels";
import { Fallback } from "../src/panels/fallback";

/** What a list of the server says, with whatever is between its brackets. */
function listOf(file: string, name: string): string {
  const text = readFileSync(`${__dirname}/../../../crates/dash/src/model/${file}.rs`, "utf8");
  const [, list] = text.match(new RegExp(`pub const ${name}: [^=]*= \\[([^\\]]*)\\];`))!;
  return list!;
}

test("the data sources that are offered are the server's, but for that of Jaeger", () => {
  const members = (name: string) =>
    [...listOf("source", "OURS").matchAll(new RegExp(`${name}: "([^"]*)"`, "g"))].map(([, value]) => value);
  const languages = [...listOf("source", "OURS").matchAll(/Language::(\w+)/g)];
  const known = members("uid").map((uid, at) => ({
    uid,
    type: members("kind")[at],
    language: languages[at]![1]!.toLowerCase(),
  }));
  // Its queries are answered for dashboards that have them; new ones are of TraceQL.
  const offered = known.filter(({ language }) => language !== "jaeger");
  expect(SOURCES.map(({ uid, type, language }) => ({ uid, type, language }))).toEqual(offered);
});

test("every kind of panel that the server knows is drawn and can be chosen", () => {
  const known = [...listOf("panel", "DRAWN").matchAll(/"([^"]*)"/g)].map(([, kind]) => kind!);
  const panels = known.filter((kind) => kind !== "row");
  expect(KINDS.map(([kind]) => kind).sort()).toEqual(panels.sort());
  expect(panels.filter((kind) => viewOf(kind) === Fallback)).toEqual([]);
});
