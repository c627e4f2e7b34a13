/** Lines, levels and LogQL of the page for logs. */
import { describe, expect, it } from "vitest";
import "./panels-browser";
import { wholeSteps } from "../src/pages/logs/ask";
import { follow, resumedAt } from "../src/pages/logs/follow";
import {
  identity,
  joined,
  LEVEL_LABELS,
  type Level,
  levelNamed,
  levelOf,
  linesOf,
  plain,
  volumes,
} from "../src/pages/logs/lines";
import { allStreams, asked, isNumbers, matchers, withLabel, withPattern } from "../src/pages/logs/query";
import { renumbered } from "../src/pages/logs/tail";

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
  it("that say the same at the same time are two if they are of different pods", () => {
    const said = (pod: string) => ({
      stream: { service_name: "shop", pod },
      values: [["100", "ready"] as const],
    });
    const [first, second] = [linesOf([said("a")]), linesOf([said("b")])];
    expect(joined(second, first, 10)).toHaveLength(2);
    expect(joined(linesOf([said("a")]), first, 10)).toHaveLength(1);
    const [line] = linesOf([{ ...said("a"), stream: { pod: "a", service_name: "shop" } }]);
    expect(identity(line!)).toBe(identity(first[0]!));
  });
  it("that are there keep their keys when others of the same time come before them", () => {
    const old = linesOf(streams);
    const late = linesOf([
      {
        stream: { app: "c" },
        values: [
          ["200", "late"],
          ["200", "later"],
        ],
      },
    ]);
    const all = renumbered([...late, ...old]);
    expect(all.slice(2)).toEqual(old);
    expect(new Set(all.map(({ key }) => key)).size).toBe(6);
  });
  it("are taken up again at the newest one, but not in the future", () => {
    expect(resumedAt(5_000_000n, 7)).toBe("5000000");
    expect(resumedAt(9_000_000n, 7)).toBe("7000000");
  });
  it("are counted in whole steps that hold all of the time", () => {
    expect(wholeSteps({ from: 61_000, to: 119_000 }, 60)).toEqual({ from: 120_000, to: 120_000 });
    expect(wholeSteps({ from: 60_000, to: 180_001 }, 60)).toEqual({ from: 60_000, to: 240_000 });
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

/** What a condition of LogQL on labels says. What is not there is empty. */
function conditionOf(condition: string): (labels: Record<string, string>) => boolean {
  const code = condition
    .replace(/(\w+)(=~|!~)("(?:[^"\\]|\\.)*")/g, "(is(labels.$1, $3) === ('$2' === '=~'))")
    .replaceAll(" and ", " && ")
    .replaceAll(" or ", " || ");
  const is = (value = "", expression = "") => {
    const [, flags = "", pattern = ""] = /^(?:\(\?(\w+)\))?(.*)$/s.exec(expression) ?? [];
    return new RegExp(`^(?:${pattern})$`, flags).test(value);
  };
  const made = new Function("is", "labels", `return ${code}`);
  return (labels) => made(is, labels);
}

describe("queries", () => {
  it("take a text and levels", () => {
    expect(asked('{a="b"}', "", [])).toBe('{a="b"}');
    expect(asked('{a="b"}', "x.y (z)", [])).toBe('{a="b"} |~ "(?i)x\\\\.y \\\\(z\\\\)"');
    expect(asked('rate({a="b"}[5m])', "x", ["error"])).toBe('rate({a="b"}[5m])');
    expect(isNumbers(' {a="b"}')).toBe(false);
  });
  it("of levels find the lines that are shown as of them, and no others", () => {
    const names = ["ERROR", "err", " Warning", "notice", "strange", "unknown", "fatal", "alerting", ""];
    const numbers = ["0", "1", "4", "5", "9", "12", "13", "16", "17", "20", "21", "24", "25", "120", "x"];
    const lines: Record<string, string>[] = [{}];
    for (const severity_number of numbers) lines.push({ severity_number });
    for (const one of names) {
      for (const label of LEVEL_LABELS) lines.push({ [label]: one }, { [label]: one, severity_number: "17" });
      for (const other of names)
        lines.push({ level: one, severity_text: other }, { detected_level: one, lvl: other });
    }
    for (const levels of [["error"], ["warn", "info"], ["critical"], ["debug", "trace"]] as Level[][]) {
      const passes = conditionOf(asked("{}", "", levels).slice("{} | ".length));
      expect(lines.filter(passes)).toEqual(lines.filter((line) => levels.includes(levelOf(line))));
    }
  });
  it("take conditions where they belong", () => {
    expect(withLabel('{service_name=~".+"} |= "x"', "service_name", "=", "shop", true)).toBe(
      '{service_name="shop"} |= "x"',
    );
    expect(withLabel('{a="b", c="d,e"}', "a", "!=", "b", true)).toBe('{c="d,e", a!="b"}');
    expect(withLabel('{a="b"}', "code", "=", 'say "5"', false)).toBe('{a="b"} | code="say \\"5\\""');
    expect(matchers('{a="x,y", b=~`z,`}')).toEqual(['a="x,y"', "b=~`z,`"]);
    expect(withPattern('{a="b"}', "x <_>", false)).toBe('{a="b"} |> "x <_>"');
    expect(withPattern('{a="b"}', 'say "<_>"', true)).toBe('{a="b"} !> "say \\"<_>\\""');
  });
  it("begin with a label that there is", () => {
    expect(allStreams(["env", "app"])).toBe('{app=~".+"}');
    expect(allStreams(["zone"])).toBe('{zone=~".+"}');
    expect(allStreams([])).toBe('{service_name=~".+"}');
  });
});

describe("a live tail", () => {
  /** A socket that is closed before it is open, as where the server refuses it. */
  class Refused {
    addEventListener(name: string, tell: () => void) {
      if (name === "close") queueMicrotask(tell);
    }
    close() {}
  }
  const told = (status: number) =>
    new Promise<string>((done) => {
      const answer = () => Promise.resolve(new Response("no such label", { status }));
      Object.assign(globalThis, { WebSocket: Refused, fetch: answer });
      let turns = 0;
      const stop = follow("{", {
        opened: () => {},
        came: () => {},
        failed: (error) => end(error.message),
        broke: () => ++turns === 2 && end("tries again"),
      });
      const end = (how: string) => {
        stop();
        done(how);
      };
    });
  it("says what is wrong with its query, and does not go on asking", async () => {
    expect(await told(400)).toBe("no such label");
  });
  it("is taken up again where the server cannot answer now", async () => {
    expect(await told(503)).toBe("tries again");
  });
  it("is asked for where the server answers and yet no socket opens", async () => {
    let [sockets, asked] = [0, 0];
    class Counted extends Refused {
      constructor() {
        super();
        sockets += 1;
      }
    }
    const line = { stream: { app: "a" }, values: [[String(BigInt(Date.now()) * 1_000_000n), "comes"]] };
    const answer = () => {
      asked += 1;
      return Promise.resolve(
        new Response(JSON.stringify({ data: { resultType: "streams", result: [line] } })),
      );
    };
    Object.assign(globalThis, { WebSocket: Counted, fetch: answer });
    const lines = await new Promise<string[]>((done) => {
      const stop = follow("{}", {
        opened: () => {},
        broke: () => {},
        failed: () => {},
        came: (found) => {
          stop();
          done(found.map(({ text }) => text));
        },
      });
    });
    expect(lines).toEqual(["comes"]);
    // Each socket that did not open was asked about, then the lines were asked for.
    expect([sockets, asked]).toEqual([2, 3]);
  });
});
