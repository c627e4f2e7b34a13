/** Rows of SQL, read as they come, and drawn over time. */
import { describe, expect, it } from "vitest";
import { plotted, RowReader, withTime } from "../src/pages/sql/rows";
import { nameOf } from "../src/ui/editor/sqlnames";

const TEXT =
  '{"columns":[{"name":"t","type":"timestamp"},{"name":"n","type":"int64"}],"rows":[\n["2026-01-01T00:00:00Z",1],\n["2026-01-01T00:01:00Z",null]],"row_count":2}\n';

describe("rows of SQL", () => {
  it("are read from pieces of any size", () => {
    for (const size of [1, 7, 1000]) {
      const reader = new RowReader();
      for (let at = 0; at < TEXT.length; at += size)
        expect(reader.take(TEXT.slice(at, at + size))).toBe(true);
      const answer = reader.end();
      expect(answer.columns.map(({ name }) => name)).toEqual(["t", "n"]);
      expect(answer.rows).toEqual([
        ["2026-01-01T00:00:00Z", 1],
        ["2026-01-01T00:01:00Z", null],
      ]);
      expect(answer.isCut).toBe(false);
    }
  });
  it("are no more than a table can have", () => {
    const reader = new RowReader(1);
    expect(reader.take(TEXT)).toBe(false);
    expect(reader.end()).toMatchObject({ isCut: true, rows: [["2026-01-01T00:00:00Z", 1]] });
  });
  it("that were broken off are the whole ones that had come", () => {
    const reader = new RowReader();
    reader.take(TEXT.slice(0, TEXT.indexOf("00:01")));
    expect(reader.end(true).rows).toEqual([["2026-01-01T00:00:00Z", 1]]);
    expect(new RowReader().end(true)).toEqual({ columns: [], rows: [], isCut: false });
  });
  it("may be none", () => {
    const reader = new RowReader();
    reader.take('{"columns":[{"name":"a","type":"string"}],"rows":[],"row_count":0}\n');
    expect(reader.end()).toEqual({ columns: [{ name: "a", type: "string" }], rows: [], isCut: false });
  });
});

describe("rows over time", () => {
  const columns = [
    { name: "t", type: "timestamp" },
    { name: "who", type: "string" },
    { name: "n", type: "float64" },
  ];
  it("make a line for each value of the one text", () => {
    const rows = [
      ["2026-01-01T00:00:00Z", "a", 1],
      ["2026-01-01T00:01:00Z", "b", 2],
    ];
    expect(plotted({ columns, rows, isCut: false })?.lines).toEqual([
      { label: "a", values: [1, null] },
      { label: "b", values: [null, 2] },
    ]);
  });
  it("need times and numbers", () => {
    expect(
      plotted({
        columns: columns.slice(1),
        rows: [
          ["a", 1],
          ["b", 2],
        ],
        isCut: false,
      }),
    ).toBeUndefined();
  });
  it("are asked for with the time shown", () => {
    expect(withTime("a > $from and b < $to and c = '$fromage'", { from: 0, to: 1000 })).toBe(
      "a > TIMESTAMP '1970-01-01T00:00:00.000Z' and b < TIMESTAMP '1970-01-01T00:00:01.000Z' and c = '$fromage'",
    );
  });
});

describe("names of tables", () => {
  it("stand between quotes where they are no plain words", () => {
    expect(nameOf("spans")).toBe("spans");
    expect(nameOf("Spans")).toBe('"Spans"');
    expect(nameOf('a" limit 0; --')).toBe('"a"" limit 0; --"');
  });
});
