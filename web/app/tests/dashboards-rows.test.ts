/** Headings of dashboards: made, changed and removed, with the panels below them. */
import { describe, expect, it } from "vitest";
import "./panels-browser";
import { findPanel, gridOf, movePanel } from "../src/pages/dashboards/change";
import type { Json } from "../src/pages/dashboards/model";
import { repeatOptions } from "../src/pages/dashboards/rowform";
import {
  addPanelBelow,
  addRow,
  changeRow,
  headingOf,
  panelsBelow,
  removeRow,
} from "../src/pages/dashboards/rows";

const panel = (id: number, y: number, h = 4): Json => ({
  id,
  type: "stat",
  gridPos: { x: 0, y, w: 12, h },
});
const row = (id: number, y: number, isClosed: boolean, panels: Json[] = []): Json => ({
  id,
  type: "row",
  title: `Row ${id}`,
  collapsed: isClosed,
  gridPos: { x: 0, y, w: 24, h: 1 },
  panels,
});
const BOARD: Json = {
  title: "x",
  unknown: { kept: true },
  templating: {
    list: [
      { name: "host", type: "query" },
      { name: "by", type: "adhoc" },
    ],
  },
  panels: [panel(1, 0), row(10, 4, false), panel(2, 5), row(11, 9, true, [panel(3, 10), panel(4, 14)])],
};
const listOf = (of: Json) => (of.panels as Json[]).map(({ id }) => id);
const topOf = (of: Json, id: number) => gridOf(findPanel(of, id)!).y;

describe("a row", () => {
  it("is added below everything, and leaves everything else as it is written", () => {
    const { dashboard, id } = addRow(BOARD);
    expect(listOf(dashboard)).toEqual([1, 10, 2, 11, id]);
    expect(topOf(dashboard, id)).toBe(10);
    expect(dashboard.unknown).toBe(BOARD.unknown);
    expect((dashboard.panels as Json[]).slice(0, 4)).toEqual(BOARD.panels);
    expect(addRow({ title: "x" }).dashboard.panels).toMatchObject([{ id: 1, type: "row", title: "New row" }]);
  });
  it("that is closed holds no panels that follow it", () => {
    const below = { ...BOARD, panels: [...(BOARD.panels as Json[]), panel(5, 10)] };
    expect(panelsBelow(below, 11).map(({ id }) => id)).toEqual([3, 4]);
    const { dashboard, id } = addRow(below);
    expect(listOf(dashboard)).toEqual([1, 10, 2, 11, 5, id]);
    expect([5, id].map((one) => topOf(dashboard, one))).toEqual([10, 14]);
    const moved = movePanel(below, 5, { x: 0, y: 12, w: 12, h: 4 });
    expect([3, 4].map((one) => topOf(moved, one))).toEqual([10, 14]);
  });
  it("is renamed, repeated and closed, with its panels within it, and opened again", () => {
    const closed = changeRow(BOARD, 10, { title: "New", repeat: "host", isClosed: true });
    expect(listOf(closed)).toEqual([1, 10, 11]);
    expect(findPanel(closed, 10)).toMatchObject({ title: "New", repeat: "host", collapsed: true });
    expect(panelsBelow(closed, 10).map(({ id }) => id)).toEqual([2]);
    const open = changeRow(closed, 10, { ...headingOf(findPanel(closed, 10)!), repeat: "", isClosed: false });
    expect(listOf(open)).toEqual([1, 10, 2, 11]);
    expect(findPanel(open, 10)).not.toHaveProperty("repeat");
  });
  it("that is opened pushes those below it down", () => {
    const below = { ...BOARD, panels: [...(BOARD.panels as Json[]), row(12, 10, false), panel(5, 11)] };
    const open = changeRow(below, 11, { title: "", repeat: "", isClosed: false });
    expect([3, 4, 12, 5].map((id) => topOf(open, id))).toEqual([10, 14, 18, 19]);
  });
  it("is removed with its panels, or they go below those before", () => {
    expect(listOf(removeRow(BOARD, 11, true))).toEqual([1, 10, 2]);
    const kept = removeRow(BOARD, 11, false);
    expect(listOf(kept)).toEqual([1, 10, 2, 3, 4]);
    expect([3, 4].map((id) => topOf(kept, id))).toEqual([10, 14]);
    const first = removeRow(changeRow(BOARD, 10, { title: "", repeat: "", isClosed: true }), 11, false);
    expect(panelsBelow(first, 10).map(({ id }) => id)).toEqual([2, 3, 4]);
    expect(removeRow(BOARD, 99, true)).toBe(BOARD);
  });
  it("gets a panel above its others, whether it is open or closed", () => {
    const open = addPanelBelow(BOARD, 10, { type: "gauge", gridPos: { w: 12, h: 9 } });
    expect(listOf(open.dashboard)).toEqual([1, 10, open.id, 2, 11]);
    expect([open.id, 2, 11].map((id) => topOf(open.dashboard, id))).toEqual([5, 14, 18]);
    const closed = addPanelBelow(BOARD, 11, { type: "gauge", gridPos: { w: 12, h: 9 } });
    expect(panelsBelow(closed.dashboard, 11).map(({ id }) => id)).toEqual([closed.id, 3, 4]);
  });
  it("is repeated by variables that have values, and by the one that is written", () => {
    expect(repeatOptions(BOARD, "gone").map(([name]) => name)).toEqual(["", "host", "gone"]);
  });
});
