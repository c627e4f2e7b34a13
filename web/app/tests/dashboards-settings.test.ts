/** Settings of a dashboard: what a change of a variable makes of what is stored of it. */
import { describe, expect, it } from "vitest";
import { refreshOf, withChange } from "../src/pages/dashboards/variablechange";

const STORED = { name: "v", type: "query", query: "a", options: [{ text: "x", value: "x" }] };

describe("a change of a variable", () => {
  it("forgets the stored options of a query that would not be asked again", () => {
    for (const change of [{ query: "b" }, { regex: "c" }, { datasource: { uid: "d" } }, { sort: 1 }])
      expect(withChange(STORED, change)).toEqual({ ...STORED, ...change, options: [] });
    expect(withChange(STORED, { label: "V" }).options).toBe(STORED.options);
    expect(withChange({ ...STORED, refresh: 1 }, { query: "b" }).options).toBe(STORED.options);
  });

  it("is what a text holds from now on", () => {
    const variable = { type: "textbox", query: "a", current: { selected: true, text: "a", value: "a" } };
    const next = withChange(variable, { query: "b" });
    expect(next).toEqual({ type: "textbox", query: "b", current: { selected: true, text: "b", value: "b" } });
    expect(withChange({ type: "textbox", query: "a" }, { query: "b" })).toEqual({
      type: "textbox",
      query: "b",
    });
  });

  it("leaves nothing of another kind", () => {
    const next = withChange({ ...STORED, current: { text: "x", value: "x" } }, { type: "textbox" });
    expect(next).toEqual({ name: "v", type: "textbox", query: "a" });
  });
});

describe("when a variable is asked", () => {
  it("is what is written, also where that is only whether", () => {
    const written = [undefined, false, true, 0, 1, 2, 7, "x"];
    expect(written.map((refresh) => refreshOf({ refresh }))).toEqual([
      "0",
      "0",
      "1",
      "0",
      "1",
      "2",
      "2",
      "0",
    ]);
  });
});
