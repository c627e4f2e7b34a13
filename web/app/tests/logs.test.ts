/** Lines, levels and LogQL of the page for logs. */
import { readFileSync } from "node:fs";
import { describe, expect, it, vi } from "vitest";
import "./panels-browser";
import { around, valueCounts, wholeSteps } from "../src/pages/logs/ask";
import { follow, resumedAt } from "../src/pages/logs/follow";
import { carried, type First, nextPiece, PIECE, type State, unseen } from "../src/pages/logs/further";
import { identity, joined, type LokiStream, linesOf, plain, volumes } from "../src/pages/logs/lines";
import { whyNone } from "../src/pages/logs/nothing";
import {
  allStreams,
  asked,
  countBy,
  isNumbers,
  matchers,
  withLabel,
  withPattern,
} from "../src/pages/logs/query";
import { renumbered } from "../src/pages/logs/tail";
import type { Field } from "../src/panels/frame";
import { linesOf as panelLines } from "../src/panels/logs";
import { LEVEL_LABELS, type Level, levelNamed, levelOf } from "../src/ui/level";

describe("lines", () => {
  const streams: LokiStream[] = [
    {
      stream: { app: "a", level: "WARNING" },
      values: [
        ["200", "second"],
        ["100", "first"],
      ],
    },
    {
      stream: { app: "b", severity_number: "17" },
      values: [
        ["1000", "third"],
        ["200", "also"],
      ],
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
  it("are taken up again a little before the newest one, or before what was heard if that is ahead", () => {
    expect(resumedAt(15_000_000_000n, 17_000)).toBe("5000000000");
    expect(resumedAt(19_000_000_000n, 17_000)).toBe("7000000000");
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
  it("are as bad to the page as they are to the server", () => {
    const known = readFileSync(`${__dirname}/../../../crates/logql/src/labels.rs`, "utf8");
    const [, labels] = known.match(/LEVEL_LABELS: [^=]* = \[([^\]]*)\]/)!;
    expect(labels!.match(/\w+/g)).toEqual(LEVEL_LABELS);
  });
  it("are as bad in a panel as they are on the page for logs", () => {
    const levels = (fields: Field[]) =>
      panelLines(
        [
          {
            fields: [
              { name: "Time", type: "time", values: [1] },
              { name: "Line", type: "string", values: ["a"] },
              ...fields,
            ],
          },
        ],
        true,
      ).map(({ level }) => level);
    const labels = (of: object): Field => ({ name: "labels", type: "other", values: [of] });
    expect(levels([labels({ lvl: "WARNING" })])).toEqual(["warn"]);
    expect(levels([labels({ severity: "err" }), { name: "level", type: "string", values: ["?"] }])).toEqual([
      "error",
    ]);
    expect(levels([{ name: "severity", type: "number", values: [9] }])).toEqual(["info"]);
    expect(levels([labels({ level: "17" })])).toEqual([levelOf({ level: "17" })]);
    expect(levels([])).toEqual(["unknown"]);
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
  it("count lines by what a label or field says", () => {
    expect(countBy('{a="b"} | json', "code", "15s")).toBe(
      'sum by (code) (count_over_time({a="b"} | json | code!="" [15s]))',
    );
  });
  it("begin with a label that there is", () => {
    expect(allStreams(["env", "app"])).toBe('{app=~".+"}');
    expect(allStreams(["zone"])).toBe('{zone=~".+"}');
    expect(allStreams([])).toBe('{service_name=~".+"}');
  });
});

describe("lines beyond those that are shown", () => {
  const line = (nanos: number, text: string, pod = "a") =>
    linesOf([{ stream: { pod }, values: [[String(nanos), text]] }])[0]!;
  it("are not told twice, though they are of one moment", () => {
    const shown = [line(9, "x"), line(5, "same"), line(5, "same"), line(5, "other")];
    const found = [line(5, "same"), line(5, "same"), line(5, "same"), line(5, "new"), line(4, "same")];
    expect(unseen(shown, found).map(({ nanos, text }) => `${nanos} ${text}`)).toEqual([
      "5 same",
      "5 new",
      "4 same",
    ]);
    expect(unseen([line(5, "x")], [line(5, "x", "b")])).toHaveLength(1);
  });
  it("begin where the last one is, in either order, and end where there are fewer than asked for", async () => {
    const asked: unknown[] = [];
    const answer = (lines: ReturnType<typeof line>[]) => (also: unknown) => {
      asked.push(also);
      return Promise.resolve(lines);
    };
    const older = await nextPiece(answer([line(5, "x"), line(4, "y")]), [line(5, "x")], "backward");
    expect([older.lines.map(({ text }) => text), older.isAtEnd]).toEqual([["y"], true]);
    await nextPiece(answer([]), [line(5, "x")], "forward");
    expect(asked).toEqual([{ end: "6" }, { start: "5" }]);
  });
  it("go on beyond a moment of more lines than come at once", async () => {
    const many = Array.from({ length: PIECE }, () => line(5, "x"));
    const asked: unknown[] = [];
    const ask = (also: { end?: unknown }) => {
      asked.push(also);
      return Promise.resolve(also.end === "6" ? many : [line(4, "y")]);
    };
    const piece = await nextPiece(ask as Parameters<typeof nextPiece>[0], many, "backward");
    expect([piece.lines.map(({ text }) => text), piece.isAtEnd]).toEqual([["y"], true]);
    expect(asked).toEqual([{ end: "6" }, { end: "5" }]);
  });
});

describe("lines that were asked for beyond the first", () => {
  const line = (nanos: number) =>
    linesOf([{ stream: {}, values: [[String(nanos * 1e6), `at ${nanos}`]] }])[0]!;
  const first = (times: number[], more: Partial<First> = {}): First => ({
    query: "{}",
    range: { from: 0, to: 100 },
    direction: "backward",
    limit: 2,
    lines: times.map(line),
    ...more,
  });
  const state = (of: First, times: number[], isAtEnd = false): State => ({
    of,
    lines: times.map(line),
    isAsking: false,
    isAtEnd,
  });
  const times = (next: State) => next.lines.map(({ text }) => text);
  const before = state(first([9, 8]), [7, 6], true);

  it("stay when the first are asked for again, with those that these do not have any more", () => {
    const next = carried(before, first([10, 9]));
    expect([times(next), next.isAtEnd]).toEqual([["at 8", "at 7", "at 6"], true]);
    const later = carried(before, first([10, 9], { range: { from: 6.5, to: 101 } }));
    expect(times(later)).toEqual(["at 8", "at 7"]);
    const wider = carried(before, first([9, 8], { range: { from: -50, to: 100 } }));
    expect([times(wider), wider.isAtEnd]).toEqual([["at 7", "at 6"], false]);
  });
  it("do not where there is a gap before them, or something else is asked", () => {
    expect(times(carried(before, first([20, 19])))).toEqual([]);
    expect(times(carried(before, first([9, 8], { query: '{a="b"}' })))).toEqual([]);
    expect(times(carried(before, first([8, 9], { direction: "forward" })))).toEqual([]);
    expect(times(carried(before, undefined))).toEqual([]);
    // Fewer than asked for are all that there are.
    expect(times(carried(before, first([10])))).toEqual([]);
    expect(times(carried(state(first([9, 8]), []), first([10, 9])))).toEqual([]);
  });
  it("of the oldest first are the later ones", () => {
    const forward = { direction: "forward" } as const;
    const next = carried(state(first([1, 2], forward), [3, 4], true), first([2, 3], forward));
    expect([times(next), next.isAtEnd]).toEqual([["at 4"], true]);
  });
});

describe("no lines", () => {
  const shown = { from: 0, to: 60_000 };
  /** A server that counts so many lines, and whose newest one is of this time. */
  const why = async (query: string, counted: number, newest?: string) => {
    const questions: string[] = [];
    const fetch = (address: string) => {
      const { pathname, searchParams } = new URL(address, "http://here");
      questions.push(searchParams.get("query")!);
      const data = pathname.endsWith("/query_range")
        ? { resultType: "streams", result: newest ? [{ stream: {}, values: [[newest, "x"]] }] : [] }
        : { resultType: "vector", result: counted > 0 ? [{ metric: {}, value: [1, String(counted)] }] : [] };
      return Promise.resolve(new Response(JSON.stringify({ data })));
    };
    Object.assign(globalThis, { fetch });
    return { told: await whyNone(query, shown, new AbortController().signal), questions };
  };
  it("are left by what stands behind the selector, or the streams have none then", async () => {
    const filtered = await why('{a="b"} |= "x"', 7);
    expect(filtered.told).toEqual({ kind: "filtered", lines: 7 });
    expect(filtered.questions).toEqual(['sum(count_over_time({a="b"} [60s]))']);
    const elsewhere = await why('{a="b"} |= "x"', 0, "5000000000");
    expect(elsewhere.told).toEqual({ kind: "elsewhere", millis: 5000 });
    expect(elsewhere.questions[1]).toBe('{a="b"}');
  });
  it("of a selector alone are not counted again", async () => {
    const nowhere = await why(' {a="b"} ', 0);
    expect(nowhere.told).toEqual({ kind: "nowhere" });
    expect(nowhere.questions).toEqual(['{a="b"}']);
  });
});

describe("lines around one", () => {
  it("are those of its stream, also where no labels are known yet", async () => {
    const queries: (string | null)[] = [];
    const fetch = (address: string) => {
      const { pathname, searchParams } = new URL(address, "http://here");
      if (pathname.endsWith("/labels")) return Promise.resolve(new Response('{"data":["app"]}'));
      queries.push(searchParams.get("query"));
      return Promise.resolve(new Response('{"data":{"resultType":"streams","result":[]}}'));
    };
    Object.assign(globalThis, { fetch });
    const line = { nanos: "7", text: "", labels: { app: "a", pod: "p" }, level: "info", key: "7/0" } as const;
    await around(line, [], 5);
    await around(line, ["pod"], 5);
    expect(queries).toEqual(['{app="a"}', '{app="a"}', '{pod="p"}', '{pod="p"}']);
  });
});

describe("values of a field", () => {
  it("are the most frequent, and say whether there are more", async () => {
    const result = [1, 9, 5].map((lines) => ({ metric: { code: `of ${lines}` }, value: [1, String(lines)] }));
    let asked = "";
    const fetch = (address: string) => {
      asked = new URL(address, "http://here").searchParams.get("query")!;
      return Promise.resolve(new Response(JSON.stringify({ data: { resultType: "vector", result } })));
    };
    Object.assign(globalThis, { fetch });
    const counts = await valueCounts('{a="$range"}', "code", 2, { from: 0, to: 90_000 });
    expect(counts).toEqual({
      values: [
        { value: "of 9", lines: 9 },
        { value: "of 5", lines: 5 },
      ],
      hasMore: true,
    });
    expect(asked).toBe('topk(3, sum by (code) (count_over_time({a="$range"} | code!="" [90s])))');
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
  it("that the server refuses is told why, and taken up again ever later", async () => {
    vi.useFakeTimers();
    let sockets = 0;
    class Closed {
      constructor() {
        sockets += 1;
      }
      addEventListener(name: string, tell: (event: unknown) => void) {
        if (name === "open") queueMicrotask(() => tell({}));
        if (name === "close") queueMicrotask(() => tell({ code: 1011, reason: "too many watch" }));
      }
      close() {}
    }
    Object.assign(globalThis, { WebSocket: Closed });
    const reasons: (string | undefined)[] = [];
    const stop = follow("{}", {
      opened: () => {},
      came: () => {},
      failed: () => {},
      broke: (why) => reasons.push(why),
    });
    // After half a second, one and two.
    await vi.advanceTimersByTimeAsync(4000);
    stop();
    vi.useRealTimers();
    expect(sockets).toBe(4);
    expect(reasons).toEqual(Array(4).fill("too many watch"));
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
