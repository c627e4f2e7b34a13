/** What belongs at the cursor of a query, and where errors are. */
import { describe, expect, it } from "vitest";
import { positionIn, queryError, writtenPlace } from "../src/ui/editor/errors";
import { placeIn as logPlace } from "../src/ui/editor/logqlplace";
import { nameBefore, tablesOf } from "../src/ui/editor/sqlnames";
import { placeIn } from "../src/ui/editor/traceqlplace";
import { tokens } from "../src/ui/editor/traceqltokens";
import { fieldName, quote, unquote } from "../src/ui/quote";

/** The place at `^`. */
function at(marked: string) {
  const position = marked.indexOf("^");
  return placeIn(marked.replace("^", ""), position);
}

describe("places in TraceQL", () => {
  it("offers fields where a condition begins", () => {
    expect(at("{^")).toMatchObject({ kind: "field", from: 1 });
    expect(at("{ resource.ser^")).toMatchObject({ kind: "field", from: 2 });
    expect(at("{ status = error && ^")).toMatchObject({ kind: "field" });
    expect(at("{ status = error } | select(span.^")).toMatchObject({ kind: "field", from: 28 });
    expect(at("{} | rate() by(^")).toMatchObject({ kind: "field" });
  });
  it("offers values of the field, among what the conditions before it leave", () => {
    expect(at('{ kind = server && span.region = "e^')).toEqual({
      kind: "value",
      from: 33,
      field: "span.region",
      quoted: true,
      given: "{ kind = server }",
    });
    expect(at("{ kind = server || status = ^")).toMatchObject({
      kind: "value",
      field: "status",
      given: "{}",
    });
    expect(at("{ (kind = server && status = ^")).toMatchObject({ kind: "value", given: "{}" });
  });
  it("offers comparisons, joins and stages in their places", () => {
    expect(at("{ status ^")).toMatchObject({ kind: "comparison" });
    expect(at("{ status = error ^")).toMatchObject({ kind: "join" });
    expect(at("{ status = error } | ^")).toMatchObject({ kind: "stage" });
    expect(at("{ status = error } ^")).toMatchObject({ kind: "behind" });
  });
  it("takes any text, also half of one", () => {
    for (const text of ['{ span."a b', "}}))", "{ a = `x", "{ é § = }", "|", ""]) {
      for (let position = 0; position <= text.length; position += 1) {
        expect(() => placeIn(text, position)).not.toThrow();
      }
    }
  });
});

describe("words of TraceQL", () => {
  it("keeps names with quotes, durations and operators whole", () => {
    expect(tokens('{ span."a b" >= 1h30m && .x =~ `y` }').map(({ text }) => text)).toEqual([
      "{",
      'span."a b"',
      ">=",
      "1h30m",
      "&&",
      ".x",
      "=~",
      "`y`",
      "}",
    ]);
  });
  it("quotes and unquotes texts", () => {
    for (const text of ['a"b', "c\\d", "e\nf", "g\r\nh", ""]) expect(unquote(quote(text))).toBe(text);
    expect(quote("e\r\nf")).toBe('"e\\r\\nf"');
    expect(fieldName("span", "my key")).toBe('span."my key"');
    // No other escapes are known in names.
    expect(fieldName("span", 'a"b\n')).toBe('span."a\\"b\n"');
    expect(fieldName("intrinsic", "status")).toBe("status");
  });
});

describe("places of errors", () => {
  it("reads how each language says a place", () => {
    const query = "first line\nsecond";
    expect(positionIn(query, "parse error at line 2, col 3: unexpected")).toBe(13);
    expect(positionIn("sum(rate(", 'invalid parameter "query": 1:10: parse error: unclosed')).toBe(9);
    expect(positionIn("selct", "syntax: found: selct at Line: 1, Column: 1")).toBe(0);
    expect(positionIn(query, "too much")).toBeUndefined();
    expect(positionIn("{", "line 9, col 40")).toBe(1);
  });
  it("finds a name that an error has between backticks", () => {
    const query = "select names, nam from spans";
    expect(positionIn(query, "there is no column `nam`, did you mean `name`?")).toBe(14);
    expect(positionIn(query, "there is no column `other`")).toBeUndefined();
  });
  it("finds the place in what is written of a place in what was asked", () => {
    const written = "rate(x[$__rate_interval]) + $v +* ${v:csv}";
    const asked = "rate(x[1m]) + 4711 +* a,b";
    expect(writtenPlace(written, asked, asked.indexOf("x"))).toBe(written.indexOf("x"));
    expect(writtenPlace(written, asked, asked.indexOf("*"))).toBe(written.indexOf("*"));
    expect(writtenPlace(written, asked, asked.indexOf("711"))).toBe(written.indexOf("$v"));
    expect(writtenPlace(written, asked, asked.indexOf("b"))).toBe(written.indexOf("${v:csv}"));
    expect(writtenPlace(written, "something else", 3)).toBeUndefined();
    expect(writtenPlace("sum(", "sum(", 4)).toBe(4);
    expect(writtenPlace("$v$v", "aa", 1)).toBe(2);
    const macro = "SELECT x WHERE $__timeFilter(f(a)) AND nonsense";
    const expanded = "SELECT x WHERE f(a) >= TIMESTAMP '1' AND f(a) <= TIMESTAMP '2' AND nonsense";
    expect(writtenPlace(macro, expanded, expanded.indexOf("nonsense"))).toBe(macro.indexOf("nonsense"));
  });
  it("places an error of a query with variables", () => {
    const error = Object.assign(new Error("1:12: parse error"), { status: 400 });
    expect(queryError("rate(x[$__interval]) +", error, "rate(x[5s]) +")?.position).toBe(20);
  });
  it("leaves failures of the server out of the editor", () => {
    const failure = Object.assign(new Error("gone"), { status: 503 });
    expect(queryError("{}", failure)).toBeUndefined();
    expect(queryError("{x", Object.assign(new Error("line 1, col 2: no"), { status: 400 }))?.position).toBe(
      1,
    );
  });
});

describe("places in LogQL", () => {
  const log = (marked: string) => logPlace(marked.replace("^", ""), marked.indexOf("^"));
  it("offers labels, operators and values in a selector", () => {
    expect(log("{^")).toMatchObject({ kind: "label", from: 1, selector: "" });
    expect(log('{a="b", se^')).toMatchObject({ kind: "label", from: 8, selector: '{a="b"}' });
    expect(log("{a ^")).toMatchObject({ kind: "operator" });
    expect(log('{a="x}, b=^')).toMatchObject({ kind: "value", label: "a", quoted: true });
    expect(log('{a="b", c=~"d^')).toMatchObject({ kind: "value", label: "c", selector: '{a="b"}' });
  });
  it("offers stages and fields behind a selector", () => {
    expect(log('{a="b"} | js^')).toMatchObject({ kind: "stage", from: 10, selector: '{a="b"}' });
    expect(log('sum(rate({a="b"} | code=^')).toMatchObject({ kind: "fieldValue", field: "code" });
    expect(log('{a="b"} |= "x^')).toBeUndefined();
    expect(log("ra^")).toMatchObject({ kind: "start", from: 0 });
  });
});

describe("names in SQL", () => {
  it("knows the name before the cursor, and tables by their other names", () => {
    expect(nameBefore("select s.na", 11)).toEqual({ from: 9, typed: "na", table: "s" });
    expect(nameBefore("select 'it na", 13)).toBeUndefined();
    expect(nameBefore("-- na", 5)).toBeUndefined();
    expect([...tablesOf("select a, b from spans join logs where x", ["spans", "logs"]).keys()]).toEqual([
      "spans",
      "logs",
    ]);
    const tables = tablesOf("select 1 from spans s join logs as l on s.a = l.b where x", ["spans", "logs"]);
    expect([...tables]).toEqual([
      ["spans", "spans"],
      ["s", "spans"],
      ["logs", "logs"],
      ["l", "logs"],
    ]);
  });
});
