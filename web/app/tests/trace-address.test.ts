/** What a trace page has in its address, and what it says and does where there is more than it can show. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import "./panels-browser";
import { navigate, param, setParams } from "../src/frame/router";
import { refreshes } from "../src/frame/time";
import { foldedNodes, readFolds as readPaths, writeFolds as writePaths } from "../src/pages/compare/folds";
import { chooseColumns, chosenColumns, readKeys, writeKeys } from "../src/pages/trace/attributecolumns";
import { condition, tracesWith } from "../src/pages/trace/attributes";
import { FLAG, has } from "../src/pages/trace/columns";
import { askMachines, lineOf, stripsOf } from "../src/pages/trace/correlated";
import { countText } from "../src/pages/trace/find";
import { boxesOfRows, boxesWith } from "../src/pages/trace/flamematch";
import { readFolds, writeFolds } from "../src/pages/trace/folds";
import { dayOf } from "../src/pages/trace/leads";
import { Rows } from "../src/pages/trace/rows";
import { inOrder, logsAround } from "../src/pages/trace/said";
import { sortingBy } from "../src/pages/trace/sorting";
import { TraceState } from "../src/pages/trace/state";
import { groupingOf } from "../src/pages/trace/stats";
import { askEvents, cutText, type TraceEvent } from "../src/pages/trace/traceevents";
import { type FlameNode, pathIds } from "../src/ui/canvas/flamenodes";
import { count } from "../src/ui/format";
import { made } from "./trace-made";

const go = (_: unknown, __: string, address: string) => {
  Object.assign(globalThis, { location: new URL(address, "http://here/") });
};
Object.assign(globalThis, { history: { replaceState: go, pushState: go } });

const TREE = [
  { start: 0, duration: 100 },
  { start: 0, duration: 40, parent: 0 },
  { start: 10, duration: 10, parent: 1 },
  { start: 50, duration: 40, parent: 0, service: 1, name: 1 },
  { start: 60, duration: 10, parent: 3 },
];

const service = (name: string) => ({ name, spans: 0, errors: 0, selfNanos: 0, criticalNanos: 0 });
const signal = new AbortController().signal;

beforeEach(() => navigate("/trace/ab", { replace: true }));

describe("the address of a trace", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("has the rows that are folded, and folds them again", () => {
    const state = new TraceState(made(TREE));
    state.fold((rows) => rows.fold(3, true));
    expect(param("folded")).toBe("0000000000000004");
    const again = new TraceState(made(TREE));
    expect([...again.rows.value.folded]).toEqual([0, 0, 0, 1, 0]);
    expect(again.rows.value.count).toBe(4);
    state.select(4);
    expect(param("folded")).toBeUndefined();
    vi.runAllTimers();
    expect(param("span")).toBe("0000000000000005");
    again.readAddress();
    expect(again.rows.value.count).toBe(5);
  });

  it("has the span that is looked at once it stays, and takes none from before back meanwhile", () => {
    const state = new TraceState(made(TREE));
    const written = vi.spyOn(history, "replaceState");
    for (const row of [1, 2, 3, 4]) state.select(row);
    expect(written).not.toHaveBeenCalled();
    setParams({ zoom: "0-50" }, { replace: true });
    state.readAddress();
    expect(state.selected.value).toBe(4);
    vi.runAllTimers();
    expect(param("span")).toBe("0000000000000005");
    expect(written).toHaveBeenCalledTimes(2);
    written.mockRestore();
    setParams({ span: "0000000000000002" });
    state.readAddress();
    expect(state.selected.value).toBe(1);
    state.select(-1);
    expect(param("span")).toBeUndefined();
  });

  it("is written late, but not into that of another page", () => {
    const state = new TraceState(made(TREE));
    state.select(2);
    state.look({ from: 0, to: 50 });
    navigate("/trace/cd");
    vi.runAllTimers();
    expect([param("span"), param("zoom")]).toEqual([undefined, undefined]);
  });

  it("keeps its filters where an error that they let through is looked for", () => {
    const flags = (flag: number) =>
      TREE.map((span, row) => ({ ...span, flags: [1, 2, 4].includes(row) ? flag : 0 }));
    const trace = made(flags(FLAG.error));
    const state = new TraceState(trace);
    const isError = (row: number) => has(trace, row, FLAG.error);
    state.filter({ root: "0000000000000002" });
    state.rows.value.fold(1, true);
    state.select(1);
    expect(state.findRow(1, isError)).toBe(2);
    state.select(2);
    expect(state.findRow(1, isError)).toBe(1);
    expect(param("root")).toBe("0000000000000002");
    // Nothing within fits: what is outside does.
    expect(state.findRow(1, (row) => row === 4)).toBe(4);
    state.select(4);
    expect(param("root")).toBeUndefined();
  });

  it("has folds of many rows only if they are all", () => {
    const wide = made([{ start: 0, duration: 9 }, ...pairs(50)]);
    const rows = new Rows(wide);
    rows.foldAll(true);
    expect(writeFolds(rows)).toBe("all");
    rows.toggle(1);
    expect(writeFolds(rows)).toBeUndefined();
    readFolds(rows, "all");
    expect(rows.count).toBe(1);
    readFolds(rows, "not an id");
    expect(rows.count).toBe(wide.spans);
  });

  it("has the stretch that is marked, once it stays", () => {
    const state = new TraceState(made(TREE));
    state.mark({ from: 20, to: 30 });
    state.mark({ from: 20, to: 60 });
    expect(param("area")).toBeUndefined();
    vi.advanceTimersByTime(1000);
    expect(param("area")).toBe("20,60");
    expect(new TraceState(made(TREE)).area.value).toEqual({ from: 20, to: 60 });
    // What else changes in the address takes nothing away that is on its way there.
    state.mark(undefined);
    state.readAddress();
    expect(state.area.value).toBeUndefined();
    vi.advanceTimersByTime(1000);
    expect(param("area")).toBeUndefined();
  });

  it("has how a table is sorted", () => {
    const { sorting, onSort } = sortingBy("statsSort", { column: "count", descending: true });
    expect(sorting).toEqual({ column: "count", descending: true });
    onSort({ column: "p95Nanos", descending: true });
    expect(param("statsSort")).toBe("-p95Nanos");
    onSort({ column: "name", descending: false });
    expect(sortingBy("statsSort").sorting).toEqual({ column: "name", descending: false });
  });

  it("has what statistics are grouped by, as it was typed", () => {
    expect(groupingOf(" service and NAME ")).toBeNull();
    expect(groupingOf("")).toBeNull();
    expect(groupingOf("Kind")).toBe("kind");
    expect(groupingOf("span.http.route")).toBe("span.http.route");
  });
});

describe("columns of attributes", () => {
  it("are in the address whatever letters their keys have", () => {
    const keys = [
      "span.http.route",
      "span.odd, key",
      'resource.say "x", y',
      "span. edge ",
      "span.back\\n",
      "a,b.c",
    ];
    expect(readKeys(writeKeys(keys))).toEqual(keys);
    expect(writeKeys(keys.slice(0, 2))).toBe('span.http.route,span."odd, key"');
    chooseColumns(keys);
    expect(chosenColumns()).toEqual(keys);
    chooseColumns([]);
    expect(param("cols")).toBeUndefined();
  });

  it("are read from older addresses, which had no quotes", () => {
    expect(readKeys("span.http.route,resource.odd key,span.n")).toEqual([
      "span.http.route",
      "resource.odd key",
      "span.n",
    ]);
    expect(readKeys("")).toEqual([]);
  });
});

describe("traces with a value", () => {
  it("are looked for at the time of the span that has it, and the day before", () => {
    const day = dayOf("1794771223254644904", 2e9);
    const sent = new URLSearchParams(tracesWith("span.n = 1", day).split("?")[1]);
    expect(sent.get("q")).toBe("{ span.n = 1 }");
    expect(sent.get("from")).toBe(String(1_794_771_223_254 - 86_400_000));
    expect(sent.get("to")).toBe(String(1_794_771_223_254 + 2_000 + 60_000 + 1));
  });
});

describe("a line of what was said", () => {
  const record = (nanos: bigint, line: string, labels = {}) => ({
    timeUnixNano: String(nanos),
    line,
    labels,
  });
  const t0 = 1_794_771_223_254_644_904n;

  it("has a name for the address, which stays when lines come before it", () => {
    const trace = made(TREE);
    const [late, same] = [record(t0 + 20n, "late"), record(t0 + 20n, "same")];
    const keys = (records: (typeof late)[]) => inOrder(trace, [], records).map(({ key }) => key);
    expect(keys([late, same])).toEqual([String(t0 + 20n), `${t0 + 20n}.1`]);
    expect(keys([late, same, record(t0 + 5n, "early")]).slice(1)).toEqual(keys([late, same]));
  });

  it("has all that came with it, and leads to the logs around it", () => {
    const labels = { service_name: 'a "shop"', shelf: "7" };
    const [said] = inOrder(made(TREE), [], [record(t0, "x".repeat(9_000), labels)]);
    expect(said!.text).toHaveLength(9_000);
    expect(said!.labels).toEqual(labels);
    const sent = new URLSearchParams(logsAround(said!).split("?")[1]);
    expect(sent.get("q")).toBe('{service_name="a \\"shop\\""}');
    expect([sent.get("from"), sent.get("to")]).toEqual(["1794771163254", "1794771283255"]);
    const any = new URLSearchParams(logsAround({ time: "0", service: "" }).split("?")[1]);
    expect(any.get("q")).toBe('{service_name=~".+"}');
  });
});

describe("folds of a comparison", () => {
  const node = (parent: number, name: string) => ({ parent, name, service: "shop" }) as FlameNode;
  const nodes = [node(-1, "a"), node(0, "b"), node(0, "c"), node(2, "b")];
  const ids = pathIds(nodes);

  it("are told by their paths, which are the same in another answer", () => {
    expect(new Set(ids).size).toBe(4);
    const other = pathIds([node(-1, "new"), node(-1, "a"), node(1, "c"), node(2, "b")]);
    expect(other.slice(1)).toEqual([ids[0], ids[2], ids[3]]);
  });

  it("are those that differ from what is quiet, or from none", () => {
    const quiet = new Set([0, 2]);
    const folds = { begin: "quiet" as const, turned: new Set([ids[1]!, ids[2]!]) };
    expect([...foldedNodes(folds, quiet, ids)].sort()).toEqual([0, 1]);
    expect(writePaths(folds)).toBe(`${ids[1]},${ids[2]}`);
    const none = { begin: "none" as const, turned: new Set([ids[0]!]) };
    expect([...foldedNodes(none, quiet, ids)]).toEqual([0]);
    expect(writePaths(none)).toBe(`none,${ids[0]}`);
    for (const one of [folds, none]) expect(readPaths(writePaths(one))).toEqual(one);
    expect(readPaths(undefined)).toEqual({ begin: "quiet", turned: new Set() });
  });

  it("are not in the address where they are too many", () => {
    const turned = new Set(Array.from({ length: 41 }, (_, at) => `id${at}`));
    expect(writePaths({ begin: "quiet", turned })).toBeUndefined();
    expect(writePaths({ begin: "none", turned })).toBe("none");
  });
});

function pairs(count: number) {
  return Array.from({ length: count }, (_, at) => [
    { start: 0, duration: 2, parent: 0 },
    { start: 0, duration: 1, parent: 1 + 2 * at },
  ]).flat();
}

describe("a strip", () => {
  it("of one point is a level over the time that it stands for", () => {
    const strip = (points: [number, number][]) => {
      const series = [{ labels: {}, points }];
      return stripsOf([{ of: "host", name: "cpu", unit: "ratio", query: "", step: 2, series }], "0", "")[0]!;
    };
    expect(lineOf(strip([[1, 0.5]]))).toEqual([
      [1e9, 0.5],
      [3e9, 0.5],
    ]);
    const two: [number, number][] = [
      [1, 0.5],
      [3, 0.7],
    ];
    expect(lineOf(strip(two))).toEqual([
      [1e9, 0.5],
      [3e9, 0.7],
    ]);
  });
});

describe("questions", () => {
  let asked: URL[] = [];
  const answer = (say: (url: URL) => unknown) => {
    asked = [];
    vi.stubGlobal("fetch", async (path: string) => {
      const url = new URL(path, "http://here/");
      asked.push(url);
      return new Response(JSON.stringify(say(url)), { headers: { "Content-Type": "application/json" } });
    });
  };
  afterEach(() => vi.unstubAllGlobals());

  it("about machines of a file are by its hosts and its time, for it need not be stored", async () => {
    answer(() => ({}));
    const header = { traceId: "ab", hosts: ["a", "b"], t0: "1794771223254644904", durationNanos: 2.5e9 };
    await askMachines("upload-1", header, signal);
    const { searchParams } = asked[0]!;
    expect(searchParams.getAll("hosts")).toEqual(["a", "b"]);
    expect(searchParams.get("start")).toBe("1794771223.254644904");
    expect(searchParams.get("end")).toBe("1794771225.754644904");
    expect(searchParams.has("trace")).toBe(false);
    await askMachines("ab", header, signal);
    expect(asked[1]!.searchParams.get("trace")).toBe("ab");
  });

  const event = (row: number): TraceEvent => ({ row, time: "1", name: "e", attributes: [] });
  const events = (url: URL, total: number, revision = "r") => {
    const offset = Number(url.searchParams.get("offset"));
    const end = Math.min(total, offset + 10_000);
    const some = Array.from({ length: end - offset }, (_, at) => event(offset + at));
    return { revision, events: some, total, next: end < total ? end : null };
  };

  it("about events are asked until all are there", async () => {
    answer((url) => events(url, 25_000));
    const found = await askEvents("ab", signal);
    expect(found.events.map(({ row }) => row)).toEqual(Array.from({ length: 25_000 }, (_, at) => at));
    expect(asked).toHaveLength(3);
    expect(cutText(found)).toBeUndefined();
  });

  it("about events have an end, which is told", async () => {
    answer((url) => events(url, 2_000_000));
    const found = await askEvents("ab", signal);
    expect(found.events).toHaveLength(100_000);
    expect(cutText(found)).toBe(`the first ${count(100_000)} of ${count(2_000_000)} events`);
  });

  it("whose answers are of a newer version have the trace read again, once for each", () => {
    const trace = made(TREE);
    trace.header.revision = "old";
    const state = new TraceState(trace);
    const before = refreshes.value;
    state.meet("old");
    expect(refreshes.value).toBe(before);
    for (const revision of ["new", "new", "newer"]) state.meet(revision);
    expect(refreshes.value).toBe(before + 2);
  });

  it("about events take none of another version of the trace", async () => {
    answer((url) => events(url, 25_000, url.searchParams.get("offset") === "0" ? "old" : "new"));
    const found = await askEvents("ab", signal);
    expect([found.revision, found.events.length, found.next]).toEqual(["old", 10_000, 10_000]);
  });
});

describe("a search in a trace", () => {
  it("says how many of its matches are marked", () => {
    const matches = (total: number) => ({ text: "x", rows: [4, 7], total });
    expect(countText(matches(0), -1)).toBe("none");
    expect(countText(matches(2), 1)).toBe("2 of 2");
    expect(countText(matches(250_000), -1)).toBe(`${count(250_000)}, first 2 marked`);
  });

  it("marks the boxes of a merged flame that its spans are in", () => {
    const trace = made(TREE);
    trace.header.services = [service("shop"), service("db")];
    const node = (parent: number, name: string, of: string) =>
      ({ parent, depth: 0, name, service: of, a: {} }) as FlameNode;
    // Spans of the same path are one box; for the last there was no room.
    const nodes = [
      node(-1, "one", "shop"),
      node(0, "one", "shop"),
      node(1, "one", "shop"),
      node(0, "two", "db"),
    ];
    const boxes = boxesOfRows(nodes, trace);
    expect([...boxes]).toEqual([0, 1, 2, 3, 3]);
    expect([...boxesWith([2, 4], boxes)]).toEqual([2, 3]);
  });
});

describe("values of attributes", () => {
  const of = (type: string, value: unknown) => condition("span", { key: "k", type, value }, "=");

  it("are written by their type, not by what they came as", () => {
    expect(of("int", "9223372036854775807")).toBe("span.k = 9223372036854775807");
    expect(of("int", "-9223372036854775808")).toBe("span.k = minInt");
    expect(of("string", "500")).toBe('span.k = "500"');
    expect(of("double", 0.5)).toBe("span.k = 0.5");
    expect(of("double", "NaN")).toBeUndefined();
  });
});
