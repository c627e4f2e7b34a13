/** Lines, levels and LogQL of the page for logs. */
import { describe, expect, it } from "vitest";
import { joined, levelNamed, levelOf, linesOf, plain, volumes } from "../src/pages/logs/lines";
import { allStreams, asked, isNumbers, matchers, withLabel, withPattern } from "../src/pages/logs/query";

describe("lines", () => {
  const streams = [
    {
      stream: { app: "a", level: "WARNING" },
      values: [["200", "second"] as const, ["100", "first"] as const],
    },
    {
      stream: { app: "b", severity_number: "17" },
      values: [["1000", "third"] as const, ["200", "also"] as const],
    },
  ];
  it("are in order of time, the newest first, each with a key of its own", () => {
    const lines = linesOf(streams);
    expect(lines.map(({ text }) => text)).toEqual(["third", "second", "also", "first"]);
    expect(new Set(lines.map(({ key }) => key)).size).toBe(4);
    expect(lines[0]!.level).toBe("error");
    expect(lines[1]!.level).toBe("warn");
  });
  it("are joined without what is there twice, and bounded", () => {
    const lines = linesOf(streams);
    expect(joined(lines, lines, 10)).toHaveLength(4);
    expect(joined(lines, [], 2).map(({ text }) => text)).toEqual(["third", "second"]);
  });
  it("lose colours of terminals, not their text", () => {
    expect(plain("\u001b[1;31mred\u001b[0m and \u001b]8;;http://x\u0007link\u0000")).toBe("red and link");
    expect(plain("tab\tstays <b>")).toBe("tab\tstays <b>");
  });
  it("know their level by any of its names", () => {
    expect(levelNamed("Fatal")).toBe("critical");
    expect(levelNamed("notice")).toBe("info");
    expect(levelOf({ level: "strange", severity_text: "DEBUG" })).toBe("debug");
    expect(levelOf({ severity_number: "24" })).toBe("critical");
    expect(levelOf({})).toBe("unknown");
  });
  it("are counted by level, also where several labels mean the same", () => {
    const { times, byLevel } = volumes([
      {
        metric: { level: "err" },
        values: [
          [1, "2"],
          [2, "3"],
        ],
      },
      { metric: { severity_text: "ERROR" }, values: [[2, "4"]] },
    ]);
    expect(times).toEqual([1000, 2000]);
    expect(byLevel.get("error")).toEqual([2, 7]);
  });
});

describe("queries", () => {
  it("take a text and levels", () => {
    expect(asked('{a="b"}', "", [])).toBe('{a="b"}');
    expect(asked('{a="b"}', "x.y (z)", [])).toBe('{a="b"} |~ "(?i)x\\\\.y \\\\(z\\\\)"');
    expect(asked('{a="b"}', "", ["error"])).toContain('level=~"(?i)(?:err.*)" or ');
    expect(asked('rate({a="b"}[5m])', "x", ["error"])).toBe('rate({a="b"}[5m])');
    expect(isNumbers(' {a="b"}')).toBe(false);
  });
  it("take conditions where they belong", () => {
    expect(withLabel('{service_name=~".+"} |= "x"', "service_name", "=", "shop", true)).toBe(
      '{service_name="shop"} |= "x"',
    );
    expect(withLabel('{a="b", c="d,e"}', "a", "!=", "b", true)).toBe('{c="d,e", a!="b"}');
    expect(withLabel('{a="b"}', "code", "=", 'say "5"', false)).toBe('{a="b"} | code="say \\"5\\""');
    expect(matchers('{a="x,y", b=~`z,`}')).toEqual(['a="x,y"', "b=~`z,`"]);
    expect(withPattern('{a="b"}', "x <_>")).toBe('{a="b"} |> "x <_>"');
  });
  it("begin with a label that there is", () => {
    expect(allStreams(["env", "app"])).toBe('{app=~".+"}');
    expect(allStreams(["zone"])).toBe('{zone=~".+"}');
    expect(allStreams([])).toBe('{service_name=~".+"}');
  });
});
