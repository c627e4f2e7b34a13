/** Tables: the order of rows, what is folded out of them, what stands below, and where cells lead. */
import { readFileSync } from "node:fs";
import { afterEach, describe, expect, it, vi } from "vitest";
import "./panels-browser";
import { place } from "../src/frame/router";
import { rowFill } from "../src/panels/cell";
import { addressOf } from "../src/panels/dashlist";
import { display, mappingOf, whole } from "../src/panels/display";
import type { Cell } from "../src/panels/frame";
import { rowKeys } from "../src/panels/nested";
import { compareTexts } from "../src/panels/order";
import { alignOf, roomOf, sideOf } from "../src/panels/tableparts";
import { arrange, givenSorting, rowTexts } from "../src/panels/tablerows";
import { keepsUnit, tally } from "../src/panels/tally";
import { withLinks } from "../src/panels/tracelinks";
import { made } from "./panels-made";

describe("rows", () => {
  const fields = [
    made("host", "string", ["node10", "node2", "node2", "node1"]),
    made("load", "number", [1, 2, 3, null]),
  ];
  const frame = { fields };

  it("are in the order of several columns", () => {
    const sorting = givenSorting({
      sortBy: [{ displayName: "host" }, { displayName: "load", desc: true }, {}],
    });
    expect(sorting).toHaveLength(2);
    expect(arrange(frame, fields, sorting, {}, rowTexts())).toEqual([3, 2, 1, 0]);
  });

  it("are compared without an order being made for each comparison", () => {
    const compare = vi.spyOn(String.prototype, "localeCompare");
    arrange(frame, fields, [{ name: "host", isDescending: false }], {}, rowTexts());
    expect(compareTexts("node2", "node10")).toBeLessThan(0);
    expect(compare).not.toHaveBeenCalled();
    compare.mockRestore();
  });

  it("are written once for the filters", () => {
    const read = vi.fn(() => "Up");
    const state = made("s", "other", [{ toJSON: read }]);
    const textAt = rowTexts();
    const filtered = (text: string) => arrange({ fields: [state] }, [state], [], { s: text }, textAt);
    expect([filtered("up"), filtered("down")]).toEqual([[0], []]);
    expect(read).toHaveBeenCalledOnce();
  });

  it("are known again after a refresh by their trace, their texts, or all they hold", () => {
    const of = (ids: string[], values: number[]) =>
      rowKeys({ fields: [made("traceID", "string", ids), made("v", "number", values)] });
    expect(of(["b", "a"], [1, 2])[1]).toBe(of(["a"], [3])[0]);
    const named = (names: string[]) =>
      rowKeys({ fields: [made("n", "string", names), made("v", "number", [1, 2])] });
    expect(named(["x", "y"])[0]).toBe(named(["z", "x"])[1]);
    expect(new Set(named(["x", "x"])).size).toBe(2);
    expect(new Set(rowKeys({ fields: [made("v", "number", [1, 2])] })).size).toBe(2);
  });

  it("are filled by the column that says so", () => {
    const cellOptions = { type: "color-background", mode: "basic", applyToRow: true };
    const config = { custom: { cellOptions }, color: { mode: "fixed", fixedColor: "#112233" } };
    const marked = [made("a", "string", ["x"]), made("b", "number", [1], config)];
    expect(rowFill(marked, marked.map(display))?.(0)).toMatchObject({ background: "#112233" });
    expect(rowFill(fields, fields.map(display))).toBeUndefined();
  });
});

describe("columns", () => {
  it("have no head where the panel says so, and its room", () => {
    expect(roomOf({}, 200, false, true)).toEqual({ hasHead: true, bodyHeight: 142 });
    expect(roomOf({ showHeader: false }, 200, false, true)).toEqual({ hasHead: false, bodyHeight: 172 });
  });

  it("may stand in the middle", () => {
    const middle = made("a", "number", [1], { custom: { align: "center" } });
    expect([alignOf(middle), sideOf(middle)]).toEqual(["center", "left"]);
  });
});

describe("links", () => {
  afterEach(() => {
    place.value = { path: "/", query: new URLSearchParams() };
  });

  it("to traces and dashboards take the tenant along", () => {
    place.value = { path: "/", query: new URLSearchParams("tenant=team-a") };
    const linked = withLinks({
      fields: [made("traceID", "string", ["ab"]), made("spanID", "string", ["cd"])],
    });
    expect(linked.fields.map(({ state }) => state?.links?.[0]?.[0]?.url)).toEqual([
      "/trace/ab?tenant=team-a",
      "/trace/ab?tenant=team-a&span=cd",
    ]);
    expect(addressOf("a b")).toBe("/d/a%20b?tenant=team-a");
  });
});

describe("values", () => {
  it("are written as the server writes them", () => {
    const text = (type: "boolean" | "other" | "string", value: Cell, config = {}) =>
      whole(display(made("v", type, [value], config))(value));
    expect([text("boolean", true), text("boolean", false)]).toEqual(["true", "false"]);
    expect(text("other", [1, 2])).toBe("1, 2");
  });

  it("are replaced by a pattern as often as it says", () => {
    const mapped = (pattern: string) =>
      mappingOf([{ type: "regex", options: { pattern, result: { text: "-" } } }], "a.b.c")?.text;
    expect([mapped("/\\./"), mapped("/\\./g")]).toEqual(["a-b.c", "a-b-c"]);
  });
});

describe("reducers of the server's golden file", () => {
  const text = readFileSync(new URL("../../../crates/dash/tests/reducers.test", import.meta.url), "utf8");
  const columns = text.split(/^column: /m).slice(1);

  for (const column of columns) {
    const [head, ...lines] = column.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    const field = JSON.parse(head!.slice(head!.indexOf("{")));
    // What nulls count for, and which texts are numbers, the server knows.
    if (field.config?.nullValueMode || !["number", "string"].includes(field.type)) continue;
    it(`have the same results here: ${head!.slice(0, head!.indexOf(" {"))}`, () => {
      const values = field.values.map((value: Cell) => (value === "NaN" ? Number.NaN : value));
      const found: Record<string, unknown> = {};
      const expected: Record<string, unknown> = {};
      for (const line of lines) {
        const at = line.indexOf(": ");
        const id = line.slice(0, at);
        expected[id] = JSON.parse(line.slice(at + 2).replace(/ # .*$/, ""));
        // JSON writes what is no number as null.
        found[id] = JSON.parse(JSON.stringify(tally(values, id)));
      }
      expect(found).toEqual(expected);
    });
  }

  it("keep the unit of what they are of, unless they count", () => {
    expect(["p95", "stdDev", "distinctCount", "diffperc"].map(keepsUnit)).toEqual([true, true, false, false]);
  });
});
