// Style sheets of pages come with their chunks and stay for good: what two of them say of one
// class holds on each other's pages, depending on which was opened first.

import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const SOURCES = `${__dirname}/../src`;

/** The style sheets that are not on every page. */
const sheets = readdirSync(SOURCES, { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".css") && !path.startsWith("styles/"))
  .sort();

/** The classes that are the whole selector of a rule. */
function classesOf(sheet: string): Set<string> {
  const text = readFileSync(`${SOURCES}/${sheet}`, "utf8").replace(/\/\*[\s\S]*?\*\//g, "");
  const selectors = [...text.matchAll(/([^{};]+)\{/g)].flatMap(([, list = ""]) => list.split(","));
  return new Set(selectors.map((one) => one.trim()).filter((one) => /^\.[\w-]+$/.test(one)));
}

test("no two style sheets of pages say how one class looks", () => {
  const sheetsOf = new Map<string, string[]>();
  for (const sheet of sheets) {
    for (const name of classesOf(sheet)) sheetsOf.set(name, [...(sheetsOf.get(name) ?? []), sheet]);
  }
  expect(sheetsOf.size).toBeGreaterThan(100);
  expect([...sheetsOf].filter(([, its]) => its.length > 1)).toEqual([]);
});
