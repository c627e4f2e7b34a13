/** Dashboards: changes of their JSON, layout, differences of versions, files. */
import { describe, expect, it } from "vitest";
import "./panels-browser";
import { operatorsOf, typed, written } from "../src/pages/dashboards/adhoc";
import { marksFor, switchesOf } from "../src/pages/dashboards/annotations";
import {
  addPanel,
  duplicatePanel,
  findPanel,
  freeId,
  gridOf,
  member,
  movePanel,
  removePanel,
  withMember,
} from "../src/pages/dashboards/change";
import { conversions, copyOf, titleOf, withTitle } from "../src/pages/dashboards/converted";
import { SOURCES } from "../src/pages/dashboards/create";
import { csv } from "../src/pages/dashboards/csv";
import { contextOf, diffLines } from "../src/pages/dashboards/diff";
import { changed } from "../src/pages/dashboards/drafts";
import {
  freeLetter,
  isInstant,
  letterOf,
  sourceOf,
  textOf,
  withInstant,
  withText,
} from "../src/pages/dashboards/edit/queries";
import { freeValue } from "../src/pages/dashboards/edit/steps";
import { sectionsOf } from "../src/pages/dashboards/layout";
import type { Json, Loaded } from "../src/pages/dashboards/model";
import { placed } from "../src/pages/dashboards/mover";
import { ownRange, timeWords } from "../src/pages/dashboards/owntime";
import { readJson } from "../src/pages/dashboards/readjson";
import { variablesOf } from "../src/pages/dashboards/variables";

const BOARD: Json = {
  title: "x",
  unknown: { kept: true },
  panels: [
    { id: 1, type: "stat", gridPos: { x: 0, y: 0, w: 12, h: 4 } },
    { id: 2, type: "stat", gridPos: { x: 12, y: 0, w: 12, h: 4 } },
    {
      id: 3,
      type: "row",
      collapsed: true,
      panels: [{ id: 4, type: "text", gridPos: { x: 0, y: 6, w: 24, h: 3 } }],
    },
  ],
};

describe("changes", () => {
  it("find panels in closed rows, and give ids that are free", () => {
    expect(findPanel(BOARD, 4)?.type).toBe("text");
    expect(freeId(BOARD)).toBe(5);
  });

  it("leave everything else as it is written", () => {
    const changed = removePanel(BOARD, 4);
    expect(changed.unknown).toBe(BOARD.unknown);
    expect(findPanel(changed, 4)).toBeUndefined();
    expect(findPanel(BOARD, 4)).toBeDefined();
  });

  it("move what is in the way down, and nothing of other rows", () => {
    const moved = movePanel(BOARD, 1, { x: 6, y: 0, w: 12, h: 4 });
    expect(gridOf(findPanel(moved, 1)!)).toEqual({ x: 6, y: 0, w: 12, h: 4 });
    expect(gridOf(findPanel(moved, 2)!).y).toBe(4);
    expect(gridOf(findPanel(moved, 4)!).y).toBe(6);
  });

  it("leave no holes where a panel was", () => {
    const moved = movePanel(BOARD, 1, { x: 12, y: 9, w: 12, h: 4 });
    expect(gridOf(findPanel(moved, 1)!)).toEqual({ x: 12, y: 4, w: 12, h: 4 });
    expect(gridOf(findPanel(moved, 2)!).y).toBe(0);
  });

  it("keep panels on the grid", () => {
    expect(gridOf(findPanel(movePanel(BOARD, 1, { x: 40, y: -3, w: 99, h: 0 }), 1)!)).toEqual({
      x: 0,
      y: 0,
      w: 24,
      h: 1,
    });
    expect(placed({ x: 20, y: 0, w: 4, h: 2 }, "move", 5, -1)).toEqual({ x: 20, y: 0, w: 4, h: 2 });
    expect(placed({ x: 20, y: 0, w: 4, h: 2 }, "size", 5, 1)).toEqual({ x: 20, y: 0, w: 4, h: 3 });
  });

  it("add and copy panels without overlaps", () => {
    const { dashboard, id } = addPanel(BOARD, { type: "gauge", gridPos: { w: 12, h: 9 } });
    expect(id).toBe(5);
    expect(gridOf(findPanel(dashboard, 1)!).y).toBe(9);
    const copied = duplicatePanel(BOARD, 1);
    expect(gridOf(findPanel(copied, 5)!)).toEqual({ x: 12, y: 0, w: 12, h: 4 });
    expect(gridOf(findPanel(copied, 2)!).y).toBe(4);
  });

  it("set members within members, and take them away", () => {
    const set = withMember({ a: { b: 1 } }, ["a", "c", "d"], 2);
    expect(set).toEqual({ a: { b: 1, c: { d: 2 } } });
    expect(member(withMember(set, ["a", "b"], undefined), ["a", "b"])).toBeUndefined();
  });
});

describe("layout", () => {
  it("puts panels below the heading that precedes them", () => {
    const panel = (key: string, type: string) => ({
      key,
      id: 1,
      type,
      title: key,
      options: {},
      scope: {},
      gridPos: { x: 0, y: 0, w: 1, h: 1 },
    });
    const made = sectionsOf([
      panel("a", "stat"),
      { ...panel("r", "row"), collapsed: true },
      panel("b", "stat"),
    ]);
    expect(
      made.map(({ row, collapsed, panels }) => [row?.key, collapsed, panels.map(({ key }) => key)]),
    ).toEqual([
      [undefined, false, ["a"]],
      ["r", true, ["b"]],
    ]);
    const behind = sectionsOf([
      { ...panel("r", "row"), collapsed: true },
      { ...panel("a", "stat"), row: "r" },
      { ...panel("b", "stat"), row: null },
      { ...panel("c", "stat"), row: null },
    ]);
    expect(behind.map(({ row, panels }) => [row?.key, panels.map(({ key }) => key)])).toEqual([
      ["r", ["a"]],
      [undefined, ["b", "c"]],
    ]);
  });

  it("puts panels that are written over each other or far apart below each other", () => {
    const panel = (key: string, y: number) => ({
      key,
      id: 1,
      type: "stat",
      title: "",
      options: {},
      scope: {},
      gridPos: { x: 0, y, w: 12, h: 8 },
    });
    const tops = (...panels: Parameters<typeof sectionsOf>[0]) =>
      sectionsOf(panels)[0]!.panels.map(({ gridPos }) => gridPos.y);
    expect(tops(panel("a", 0), panel("b", 0), panel("c", 8))).toEqual([0, 8, 16]);
    expect(tops(panel("a", 3), panel("b", 300))).toEqual([3, 11]);
  });

  it("gives panels with a time of their own that time", () => {
    const panel = {
      key: "",
      id: 1,
      type: "",
      title: "",
      options: {},
      scope: {},
      gridPos: { x: 0, y: 0, w: 1, h: 1 },
    };
    expect(ownRange({ ...panel, timeFrom: "1m", timeShift: "1h" }, { from: 0, to: 7_200_000 })).toEqual({
      from: 3_540_000,
      to: 3_600_000,
    });
  });

  it("may be of whole days, as its head says", () => {
    const at = (...of: [number, number, number, number?]) => new Date(...of).getTime();
    const range = { from: at(2026, 4, 20, 9), to: at(2026, 4, 20, 15) };
    expect(ownRange({ timeFrom: "now/d" }, range)).toEqual({ from: at(2026, 4, 20), to: range.to });
    expect(ownRange({ timeFrom: "now-2d/d" }, range)).toEqual({ from: at(2026, 4, 18), to: range.to });
    expect(ownRange({ timeShift: "1d/d" }, range)).toEqual({
      from: at(2026, 4, 19),
      to: at(2026, 4, 20) - 1,
    });
    expect(ownRange({ timeFrom: "soon", timeShift: "1x" }, range)).toEqual(range);
    const hour = { from: range.to, to: range.to + 3_600_000 };
    expect(ownRange({ timeFrom: "+1h" }, range)).toEqual(hour);
    expect(ownRange({ timeFrom: "1h30m" }, range).from).toBe(range.to - 5_400_000);
    expect(ownRange({ timeFrom: "now", timeShift: "/d" }, range)).toEqual(range);
    expect(timeWords({ timeFrom: "+1h" })).toBe("Next 1h");
    expect(timeWords({ timeFrom: "now/d" })).toBe("Today");
    expect(timeWords({ timeFrom: "2h", timeShift: "1d/d" })).toBe("Last 2h, 1d/d earlier");
    expect(timeWords({ timeFrom: "soon" })).toBe("“soon” is not a time");
    expect(timeWords({})).toBe("");
  });
});

describe("variables", () => {
  it("are in the address as Grafana writes them", () => {
    expect(variablesOf(new URLSearchParams("var-a=1&var-a=2&from=now&var-b="))).toEqual({
      a: ["1", "2"],
      b: [""],
    });
  });

  it("of conditions are written with bars that are no separators", () => {
    expect(written({ key: "a", operator: "=~", value: "x|y" })).toBe("a|=~|x__gfp__y");
    expect(written({ key: "a", operator: "=|", value: "x", values: ["x", "y"] })).toBe("a|=||x|y");
  });

  it("of conditions compare as their data source does, with several values between commas", () => {
    expect(written(typed({ key: "a", operator: "=|", value: " x, y ,," }))).toBe("a|=||x|y");
    expect(written(typed({ key: "a", operator: "=", value: "x, y" }))).toBe("a|=|x, y");
    expect(operatorsOf("tempo")).toContain("<");
    expect(operatorsOf("prometheus")).not.toContain("<");
  });
});

describe("annotations", () => {
  const listed = [
    { name: "Deploys", enable: true, hide: false },
    { name: "Alarms", enable: false, hide: false },
  ];

  it("are as the dashboard has them, unless the address says otherwise", () => {
    const asked = (query: string) =>
      switchesOf(listed, new URLSearchParams(query)).map(({ name, isOn }) => [name, isOn]);
    expect(asked("")).toEqual([
      ["Deploys", true],
      ["Alarms", false],
    ]);
    expect(asked("annotation-Deploys=0&annotation-Alarms=1")).toEqual([
      ["Deploys", false],
      ["Alarms", true],
    ]);
  });

  it("are over the panels that they are meant for", () => {
    const marks = [
      { time: 1 },
      { time: 2, panels: { exclude: false, ids: [1] } },
      { time: 3, panels: { exclude: true, ids: [1] } },
    ];
    expect(marksFor(marks, 1).map(({ time }) => time)).toEqual([1, 2]);
    expect(marksFor(marks, 2).map(({ time }) => time)).toEqual([1, 3]);
  });
});

describe("drafts", () => {
  const loaded = (version: number): Loaded => ({
    meta: { uid: "x", kind: "own", version },
    dashboard: BOARD,
    model: BOARD,
  });

  it("stay of the version that they were begun with, whatever is loaded meanwhile", () => {
    const first = changed(undefined, loaded(3), { title: "a" });
    const next = changed(first, loaded(4), { title: "b" });
    expect(next).toEqual({ dashboard: { title: "b" }, version: 3 });
    expect(changed(next, loaded(4), undefined)).toBeUndefined();
    expect(changed(undefined, loaded(4), BOARD)).toBeUndefined();
  });

  it("are of the version that was saved, if they are begun before that is loaded", () => {
    expect(changed({ version: 4 }, loaded(3), { title: "c" })).toEqual({
      dashboard: { title: "c" },
      version: 4,
    });
  });

  it("of a document of another form save that as it is, until something is changed", () => {
    const written = { spec: { title: "a" } };
    const first = changed(undefined, loaded(3), { title: "a" }, written);
    expect(first).toEqual({ dashboard: { title: "a" }, version: 3, written });
    expect(changed(first, loaded(3), { title: "b" })).toEqual({ dashboard: { title: "b" }, version: 3 });
  });
});

describe("JSON that is typed", () => {
  it("is taken only if it is what is expected", () => {
    expect(readJson('{"a": 1}', "object")).toEqual({ value: { a: 1 } });
    for (const wrong of ["null", "1", "[]"]) expect(readJson(wrong, "object")).toHaveProperty("error");
    expect(readJson("{}", "list")).toHaveProperty("error");
    expect(readJson("{", "any")).toHaveProperty("error");
  });
});

describe("values as words", () => {
  it("begin with a number that has none yet", () => {
    expect(freeValue([["1", {}]])).toBe("2");
    expect(freeValue([])).toBe("0");
  });
});

describe("differences", () => {
  it("are what was added and removed, with lines around them", () => {
    const lines = diffLines(["a", "b", "c", "d", "e", "f"], ["a", "b", "x", "d", "e", "f"]);
    expect(lines.filter(({ kind }) => kind !== "same")).toEqual([
      { kind: "removed", text: "c" },
      { kind: "added", text: "x" },
    ]);
    expect(contextOf(lines, 1).map(({ kind }) => kind)).toEqual([
      "skip",
      "same",
      "removed",
      "added",
      "same",
      "skip",
    ]);
  });
});

describe("files", () => {
  it("quote what needs it, and defuse what a spreadsheet would run", () => {
    const frame = {
      fields: [
        { name: "Time", type: "time" as const, values: [0] },
        { name: "a,b", type: "string" as const, values: ['=1+1"'] },
        { name: "n", type: "number" as const, values: [-1.5] },
      ],
    };
    expect(csv(frame, false)).toBe(`Time,"a,b",n\r\n1970-01-01T00:00:00.000Z,"'=1+1""",-1.5\r\n`);
  });
});

describe("queries", () => {
  it("speak the language of their data source, or of what is written", () => {
    expect(sourceOf({ datasource: { type: "loki", uid: "x" } }, {})?.language).toBe("logql");
    expect(sourceOf({ expr: "up" }, { datasource: "$ds" })?.language).toBe("promql");
    expect(sourceOf({ rawSql: "SELECT 1" }, {})?.language).toBe("sql");
    expect(sourceOf({}, {})).toBeUndefined();
  });
});

describe("queries of forms", () => {
  const [metrics, traces, logs] = SOURCES;

  it("are shown as what was made of them, and are what is typed from then on", () => {
    const built = { queryType: "traceqlSearch", filters: [{ tag: "a" }], limit: 5 };
    expect(textOf(built, traces, "{.a=1}")).toBe("{.a=1}");
    expect(textOf(built, traces)).toBe("");
    const typed = withText(built, traces, "{.a=2}");
    expect(typed).toEqual({ queryType: "traceql", query: "{.a=2}", limit: 5 });
    expect(textOf(typed, traces, "{.a=1}")).toBe("{.a=2}");
    expect(withText({ expr: "a" }, metrics, "b")).toEqual({ expr: "b" });
  });

  it("of logs are of one moment by their own word", () => {
    const old = { expr: "x", queryType: "instant", instant: true };
    expect(isInstant({ queryType: "instant" })).toBe(true);
    const range = withInstant(old, logs, false);
    expect(range).toEqual({ expr: "x", queryType: "range" });
    expect(isInstant(range)).toBe(false);
    expect(isInstant(withInstant(range, logs, true))).toBe(true);
    expect(withInstant({ expr: "x" }, metrics, true)).toEqual({ expr: "x", instant: true, range: false });
  });
});

describe("letters of queries", () => {
  it("are those of their places where they have none, as the server calls them", () => {
    const targets: Json[] = [{}, { refId: "X" }, { refId: "" }];
    expect(targets.map(letterOf)).toEqual(["A", "X", "C"]);
    expect(freeLetter(targets)).toBe("B");
    expect(letterOf({}, 27)).toBe("B");
  });
});

describe("a dashboard that came from elsewhere", () => {
  const model = { title: "x", schemaVersion: 42, panels: [] };

  it("says what saving makes of it", () => {
    const old = { title: "x", schemaVersion: 16, rows: [], __inputs: [], __requires: [] };
    expect(conversions(old, model)).toEqual([
      "It came with schema version 16 and is saved with 42: panels of older kinds become those of today.",
      "__inputs, __requires are left out.",
    ]);
    const wrapped = { apiVersion: "dashboard.grafana.app/v2beta1", spec: { title: "x", elements: {} } };
    expect(conversions(wrapped, model)).toEqual([
      "It came as dashboard.grafana.app/v2beta1 and is saved in the classic form.",
    ]);
    expect(conversions({ dashboard: old, meta: {} }, model)).toHaveLength(2);
  });

  it("has nothing said of it if it is of today, or taken back as it came", () => {
    expect(conversions(model, { ...model, title: "y" })).toEqual([]);
    expect(conversions(model, { title: "x", schemaVersion: 16 })).toEqual([]);
  });

  it("is called otherwise within what is around it, and left as it is if it is not", () => {
    const wrapped = { kind: "Dashboard", spec: { title: "x", elements: {} } };
    expect(titleOf(wrapped)).toBe("x");
    expect(withTitle(wrapped, "x")).toBe(wrapped);
    expect(withTitle(wrapped, "y")).toEqual({ kind: "Dashboard", spec: { title: "y", elements: {} } });
    expect(withTitle(model, "y")).toEqual({ ...model, title: "y" });
    const odd = { ...model, spec: { title: "z" } };
    expect(titleOf(odd)).toBe("x");
    expect(withTitle(odd, "y")).toEqual({ ...odd, title: "y" });
  });

  it("is copied without anything that says which it is", () => {
    const inner = { title: "x", uid: "u", id: 5, panels: [] };
    for (const wrapped of [
      inner,
      { dashboard: inner, meta: { uid: "u" } },
      { kind: "Dashboard", metadata: { name: "u" }, spec: inner },
    ])
      expect(copyOf(wrapped, "y")).toEqual({ title: "y", panels: [] });
  });
});
