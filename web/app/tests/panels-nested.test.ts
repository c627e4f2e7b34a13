/** What is within cells and answers: nested tables, one trace as a tree, and bars of any number. */
import { describe, expect, it } from "vitest";
import "./panels-browser";
import { barsOf, cutOf } from "../src/panels/bars";
import { display } from "../src/panels/display";
import { decode, type Field, type Frame, nameOf } from "../src/panels/frame";
import { expandsAll, HEADING, holdsTables, itemsOf, tablesOf } from "../src/panels/nested";
import { placeOf, spanTree } from "../src/panels/spantree";
import { withLinks } from "../src/panels/tracelinks";
import { heldBack, plainly } from "../src/panels/values";
import { endsOf, highest, lowest } from "../src/ui/ends";

function field(name: string, type: Field["type"], values: Field["values"], more: Partial<Field> = {}): Field {
  return { name, type, values, ...more };
}

const TREND: Frame = { fields: [field("Time", "time", [1, 2]), field("v", "number", [3, 4])] };
const INNER: Frame = {
  meta: { custom: { noHeader: false } },
  fields: [field("job", "string", ["x", "y"]), field("v", "number", [1, "NaN"])],
};

describe("tables within a table", () => {
  const nested = field("__nestedFrames", "frame", [[INNER], []]);

  it("are told from series, which are drawn in their cells", () => {
    expect(holdsTables(nested)).toBe(true);
    expect(holdsTables(field("Trend", "frame", [TREND]))).toBe(false);
    expect(holdsTables(field("Spans", "frame", [INNER]))).toBe(true);
    expect(display(nested)(nested.values[0]).text).toBe("2 rows");
  });

  it("fold out below the row that they are of, with the names of their columns", () => {
    const tables = (row: number) => tablesOf([nested], row);
    const places = (open: readonly number[]) =>
      itemsOf([1, 0], (row) => open.includes(row), tables).map(({ row, inner, at }) => [
        row,
        inner ? at : "outer",
      ]);
    expect(places([])).toEqual([
      [1, "outer"],
      [0, "outer"],
    ]);
    // A row without any has nothing to fold out.
    expect(places([0, 1])).toEqual([
      [1, "outer"],
      [0, "outer"],
      [0, HEADING],
      [0, 0],
      [0, 1],
    ]);
  });

  it("have no heading and are all open where the dashboard says so", () => {
    const bare = { ...INNER, meta: { custom: { noHeader: true } } };
    const items = itemsOf(
      [0],
      () => true,
      () => [bare],
    );
    expect(items.map(({ at }) => at)).toEqual([0, 0, 1]);
    expect(expandsAll({ meta: { custom: { expandAllRows: true } }, fields: [] })).toBe(true);
    expect(expandsAll(INNER)).toBe(false);
  });

  it("have the numbers that JSON has not", () => {
    const frame = { fields: [field("n", "frame", [[structuredClone(INNER)]])] };
    decode([frame]);
    expect((frame.fields[0]!.values[0] as Frame[])[0]!.fields[1]!.values).toEqual([1, Number.NaN]);
  });

  it("keep the names of their columns where the column of tables has another, and lead to traces", () => {
    const spans: Frame = {
      fields: [
        field("traceIdHidden", "string", ["t1"], { config: { custom: { hidden: true } } }),
        field("spanID", "string", ["s1"]),
        field("attempt", "number", [2], {
          config: { displayNameFromDS: "Spans" },
          state: { displayName: "Spans" },
        }),
      ],
    };
    const outer = field("nested", "frame", [spans], { config: { displayNameFromDS: "Spans" } });
    const [inner] = tablesOf([outer], 0);
    expect(inner!.fields.map(nameOf)).toEqual(["traceIdHidden", "spanID", "attempt"]);
    expect(inner!.fields[1]!.state?.links?.[0]?.[0]?.url).toBe("/trace/t1?span=s1");
    expect(withLinks(TREND)).toBe(TREND);
  });
});

describe("one trace", () => {
  const made = (parents: (string | null)[], statuses: string[]): Frame => ({
    meta: { traceId: "t" },
    fields: [
      field("spanID", "string", ["a", "b", "c", "d"]),
      field("parentSpanID", "string", parents),
      field("operationName", "string", ["A", "B", "C", "D"]),
      field("serviceName", "string", ["one", "two", "one", "one"]),
      field("statusCode", "string", statuses),
      field("startTime", "time", [1000, 1010, 1005, 1040]),
      field("duration", "number", [50e6, 10e6, 20e6, 60e6]),
    ],
  });

  it("is the tree of its spans, in the time from the first beginning to the last end", () => {
    const tree = spanTree(made([null, "c", "a", "nowhere"], ["unset", "error", "unset", "ok"]))!;
    expect(tree.spans.map(({ id, depth }) => `${id}${depth}`)).toEqual(["a0", "c1", "b2", "d0"]);
    expect([tree.nanos, tree.services, tree.errors]).toEqual([100e6, 2, 1]);
    expect(placeOf(tree.spans[1]!, tree.nanos)).toEqual({ from: 0.05, length: 0.2 });
    expect(tree.spans[2]!.isError).toBe(true);
  });

  it("has each span once where parents lead in a circle", () => {
    const tree = spanTree(made([null, "c", "b", "d"], ["unset", "unset", "unset", "unset"]))!;
    expect(tree.spans.map(({ id }) => id).toSorted()).toEqual(["a", "b", "c", "d"]);
  });

  it("is only what the server says is one", () => {
    expect(spanTree(INNER)).toBeUndefined();
    expect(spanTree({ meta: { traceId: "t" }, fields: [] })).toBeUndefined();
  });
});

describe("bars", () => {
  it("are bounded, and it is said how many are left out", () => {
    const groups = Array.from({ length: 2000 }, (_, row) => `g${row}`);
    const series = Array.from({ length: 65 }, (_, at) =>
      field(
        `s${at}`,
        "number",
        groups.map((_, row) => row),
      ),
    );
    const bars = barsOf([{ fields: [field("x", "string", groups), ...series] }], {})!;
    expect(bars.groups.flat().length).toBeLessThanOrEqual(5000);
    expect(cutOf(bars)).toBe(`Shown are the first ${bars.names.length} groups of 2000.`);
    const few = barsOf([{ fields: [field("x", "string", ["a"]), series[0]!] }], {})!;
    expect(cutOf(few)).toBeUndefined();
  });
});

describe("the ends of numbers", () => {
  it("are found of more numbers than a function takes", () => {
    const many = Array.from({ length: 300_000 }, (_, at) => at);
    expect(endsOf(many)).toEqual([0, 299_999]);
    expect([highest(many, 5), lowest(many, -1), highest([], 5)]).toEqual([299_999, -1, 5]);
  });
});

describe("values within a text", () => {
  const written = "# value of \ue000<h1>x</h1>\ue001, \ue000[y](https://e)\ue001";

  it("are words while it is read, and texts in what was made of it", () => {
    const { text, filled } = heldBack(written);
    expect(text).toMatch(/^# value of \w+, \w+$/);
    expect(filled(text)).toBe("# value of <h1>x</h1>, [y](https://e)");
    expect(plainly(written)).toBe(filled(text));
  });

  it("are not what somebody wrote that looks like their words", () => {
    const { text, filled } = heldBack("value0z \ue000v\ue001");
    expect(filled(text)).toBe("value0z v");
  });
});
