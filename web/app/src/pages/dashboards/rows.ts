/**
 * Headings of a dashboard's JSON: made, renamed, closed, repeated and removed, and panels that are added below
 * one. Rows that grow push those below them down. As other changes, each gives a new document.
 */
import { freeId, gridOf, type Section, sectionsOf } from "./change";
import type { Json } from "./model";

function withSections(dashboard: Json, sections: readonly Section[]): Json {
  const panels = stacked(sections).flatMap(({ row, panels }) => {
    if (!row) return panels;
    return row.collapsed === true ? [{ ...row, panels }] : [{ ...row, panels: [] }, ...panels];
  });
  return { ...dashboard, panels };
}

/** Sections below each other: each as it is written, unless one above has grown into it. */
function stacked(sections: readonly Section[]): Section[] {
  let bottom = 0;
  return sections.map(({ row, panels }) => {
    const rowTop = row ? Math.max(bottom, gridOf(row).y) : bottom;
    const top = row ? rowTop + 1 : bottom;
    const by = Math.max(0, top - topOf(panels, top));
    const moved = by === 0 ? panels : panels.map((panel) => lowered(panel, by));
    bottom = row?.collapsed === true ? top : Math.max(top, bottomOf(moved));
    return { row: row && { ...row, gridPos: { x: 0, y: rowTop, w: 24, h: 1 } }, panels: moved };
  });
}

function topOf(panels: readonly Json[], otherwise: number): number {
  return panels.length === 0 ? otherwise : Math.min(...panels.map((panel) => gridOf(panel).y));
}

function bottomOf(panels: readonly Json[]): number {
  const bottoms = panels.map((panel) => {
    const { y, h } = gridOf(panel);
    return y + h;
  });
  return Math.max(0, ...bottoms);
}

function lowered(panel: Json, by: number): Json {
  const grid = gridOf(panel);
  return { ...panel, gridPos: { ...grid, y: grid.y + by } };
}

/** The panels of a row. */
export function panelsBelow(dashboard: Json, id: number): readonly Json[] {
  return sectionsOf(dashboard).find(({ row }) => row?.id === id)?.panels ?? [];
}

/** A new heading at the end, below everything. */
export function addRow(dashboard: Json): { dashboard: Json; id: number } {
  const id = freeId(dashboard);
  const row = { id, type: "row", title: "New row", collapsed: false, gridPos: { x: 0, y: 0, w: 24, h: 1 } };
  return { dashboard: withSections(dashboard, [...sectionsOf(dashboard), { row, panels: [] }]), id };
}

/** What is said of a heading. */
export interface Heading {
  title: string;
  /** The variable whose values it is repeated for; empty for none. */
  repeat: string;
  isClosed: boolean;
}

export function headingOf({ title, repeat, collapsed }: Json): Heading {
  return {
    title: typeof title === "string" ? title : "",
    repeat: typeof repeat === "string" ? repeat : "",
    isClosed: collapsed === true,
  };
}

/** A heading that says something else. Its panels go where those of a closed or an open one are. */
export function changeRow(dashboard: Json, id: number, { title, repeat, isClosed }: Heading): Json {
  const sections = sectionsOf(dashboard).map((section) => {
    if (section.row?.id !== id) return section;
    const { repeat: _, ...rest } = section.row;
    const row = { ...rest, title, collapsed: isClosed, ...(repeat !== "" && { repeat }) };
    return { ...section, row };
  });
  return withSections(dashboard, sections);
}

/** Takes a heading away: with its panels, or they go below those of the section before. */
export function removeRow(dashboard: Json, id: number, isWithPanels: boolean): Json {
  const sections = sectionsOf(dashboard);
  const at = sections.findIndex(({ row }) => row?.id === id);
  const [own, before] = [sections[at], sections[at - 1]];
  if (!own || !before) return dashboard;
  if (!isWithPanels) {
    const end = bottomOf(before.panels);
    const by = Math.max(0, end - topOf(own.panels, end));
    before.panels.push(...own.panels.map((panel) => lowered(panel, by)));
  }
  return withSections(dashboard, sections.toSpliced(at, 1));
}

/** A new panel below a heading, above the others there. Gives the document and the id of the panel. */
export function addPanelBelow(dashboard: Json, rowId: number, panel: Json): { dashboard: Json; id: number } {
  const id = freeId(dashboard);
  const sections = sectionsOf(dashboard).map((section) => {
    if (section.row?.id !== rowId) return section;
    const [grid, y] = [gridOf(panel), topOf(section.panels, gridOf(section.row).y + 1)];
    const made = { ...panel, id, gridPos: { ...grid, x: 0, y } };
    return { ...section, panels: [made, ...section.panels.map((one) => lowered(one, grid.h))] };
  });
  return { dashboard: withSections(dashboard, sections), id };
}
