/**
 * Changes of a dashboard's JSON: each gives a new document and leaves the old one as it was, and everything
 * that is not about the change stays as it is written.
 */
import type { GridPos, Json } from "./model";

const COLUMNS = 24;

export function panelsOf(of: Json): Json[] {
  return Array.isArray(of.panels) ? (of.panels as Json[]) : [];
}

export function isRow(panel: Json): boolean {
  return panel.type === "row";
}

/** A heading with its panels; those at the top, and those behind a closed row, have none. */
export interface Section {
  row?: Json;
  panels: Json[];
}

/** The panels of a closed row are within it, those of an open one behind it in the list. */
export function sectionsOf(dashboard: Json): Section[] {
  const sections: Section[] = [{ panels: [] }];
  for (const panel of panelsOf(dashboard)) {
    const last = sections.at(-1)!;
    if (isRow(panel)) sections.push({ row: panel, panels: panelsOf(panel).slice() });
    else if (last.row?.collapsed === true) sections.push({ panels: [panel] });
    else last.panels.push(panel);
  }
  return sections;
}

/** A panel by its id, also one within a row that is closed. */
export function findPanel(dashboard: Json, id: number): Json | undefined {
  for (const panel of panelsOf(dashboard)) {
    if (panel.id === id) return panel;
    const inner = panelsOf(panel).find((one) => one.id === id);
    if (inner) return inner;
  }
  return undefined;
}

/** The document with each panel put through a function; what that gives nothing for is left out. */
function mapPanels(dashboard: Json, change: (panel: Json) => Json[]): Json {
  const panels = panelsOf(dashboard).flatMap((panel) => {
    const inner = panelsOf(panel);
    return change(inner.length > 0 ? { ...panel, panels: inner.flatMap(change) } : panel);
  });
  return { ...dashboard, panels };
}

export function replacePanel(dashboard: Json, id: number, next: Json): Json {
  return mapPanels(dashboard, (panel) => [panel.id === id ? next : panel]);
}

export function removePanel(dashboard: Json, id: number): Json {
  return mapPanels(dashboard, (panel) => (panel.id === id ? [] : [panel]));
}

/** An id that no panel has. */
export function freeId(dashboard: Json): number {
  const ids = panelsOf(dashboard).flatMap((panel) =>
    [panel, ...panelsOf(panel)].map(({ id }) => Number(id) || 0),
  );
  return Math.max(0, ...ids) + 1;
}

export function gridOf(panel: Json): GridPos {
  const given = (panel.gridPos ?? {}) as Partial<GridPos>;
  const w = Math.min(COLUMNS, Math.max(1, given.w ?? 12));
  return {
    x: Math.min(COLUMNS - w, Math.max(0, given.x ?? 0)),
    y: Math.max(0, given.y ?? 0),
    w,
    h: Math.max(1, given.h ?? 8),
  };
}

/** A copy beside or below the panel. */
export function duplicatePanel(dashboard: Json, id: number): Json {
  const copyId = freeId(dashboard);
  const changed = mapPanels(dashboard, (panel) => {
    if (panel.id !== id) return [panel];
    const grid = gridOf(panel);
    const isBeside = grid.x + grid.w * 2 <= COLUMNS;
    const place = isBeside ? { ...grid, x: grid.x + grid.w } : { ...grid, y: grid.y + grid.h };
    return [panel, { ...structuredClone(panel), id: copyId, gridPos: place }];
  });
  return settle(changed, copyId);
}

/** A new panel at the top, above everything. Gives the document and the id of the panel. */
export function addPanel(dashboard: Json, panel: Json): { dashboard: Json; id: number } {
  const id = freeId(dashboard);
  const grid = gridOf(panel);
  const made = { ...panel, id, gridPos: { ...grid, x: 0, y: 0 } };
  const panels = panelsOf(dashboard);
  // Panels before the first row have no heading; a new one belongs to them.
  const firstRow = panels.findIndex(isRow);
  const before = firstRow < 0 ? panels : panels.slice(0, firstRow);
  const after = firstRow < 0 ? [] : panels.slice(firstRow);
  const moved = before.map((one) => ({ ...one, gridPos: { ...gridOf(one), y: gridOf(one).y + grid.h } }));
  return { dashboard: { ...dashboard, panels: [made, ...moved, ...after] }, id };
}

/** A panel at another place or of another size; what is in its way moves down. */
export function movePanel(dashboard: Json, id: number, place: GridPos): Json {
  const w = Math.min(COLUMNS, Math.max(1, Math.round(place.w)));
  const grid = {
    w,
    x: Math.min(COLUMNS - w, Math.max(0, Math.round(place.x))),
    y: Math.max(0, Math.round(place.y)),
    h: Math.max(1, Math.round(place.h)),
  };
  return settle(
    mapPanels(dashboard, (panel) => [panel.id === id ? { ...panel, gridPos: grid } : panel]),
    id,
  );
}

function overlap(a: GridPos, b: GridPos): boolean {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}

/** Puts the panels of the section that a panel is in where they may be. Panels of different rows do not meet. */
function settle(dashboard: Json, fixedId: number): Json {
  const sections = sectionsOf(dashboard).map(({ panels }) => panels);
  const section = sections.find((one) => one.some(({ id }) => id === fixedId));
  if (!section) return dashboard;
  const before = section.map((panel) => ({ id: panel.id as number, ...gridOf(panel) }));
  const places = settled(before, fixedId);
  return mapPanels(dashboard, (panel) => {
    const place = places.get(panel.id as number);
    return [place && !isRow(panel) ? { ...panel, gridPos: { ...(panel.gridPos as Json), ...place } } : panel];
  });
}

/**
 * Places as Grafana's grid has them: without overlaps, the fixed one going first and then the others from
 * top to bottom, and without holes above them.
 */
export function settled(
  places: readonly (GridPos & { id: number })[],
  fixedId?: number,
): Map<number, GridPos> {
  const order = places.toSorted(
    (a, b) => Number(b.id === fixedId) - Number(a.id === fixedId) || a.y - b.y || a.x - b.x,
  );
  const done: (GridPos & { id: number })[] = [];
  for (const place of order) {
    const free = { ...place };
    let other = done.find((one) => overlap(one, free));
    while (other) {
      free.y = other.y + other.h;
      other = done.find((one) => overlap(one, free));
    }
    done.push(free);
  }
  return raised(done, Math.min(...places.map(({ y }) => y)));
}

/** Each place as high as those before it let it. */
function raised(places: readonly (GridPos & { id: number })[], top: number): Map<number, GridPos> {
  const done: GridPos[] = [];
  const found = new Map<number, GridPos>();
  for (const { id, ...place } of places.toSorted((a, b) => a.y - b.y || a.x - b.x)) {
    const above = done.filter((one) => one.x < place.x + place.w && place.x < one.x + one.w);
    const free = { ...place, y: Math.max(top, ...above.map((one) => one.y + one.h)) };
    done.push(free);
    found.set(id, free);
  }
  return found;
}

/** A member of an object within objects, as `["fieldConfig", "defaults", "unit"]`, set or taken away. */
export function withMember(of: Json, path: readonly string[], value: unknown): Json {
  const [name, ...rest] = path;
  if (name === undefined) return of;
  if (rest.length === 0) {
    const { [name]: _, ...others } = of;
    return value === undefined ? others : { ...of, [name]: value };
  }
  const inner = of[name];
  const next = withMember(
    inner !== null && typeof inner === "object" && !Array.isArray(inner) ? (inner as Json) : {},
    rest,
    value,
  );
  return { ...of, [name]: next };
}

/** A member of an object within objects. */
export function member(of: Json | undefined, path: readonly string[]): unknown {
  let at: unknown = of;
  for (const name of path) {
    if (at === null || typeof at !== "object") return undefined;
    at = (at as Json)[name];
  }
  return at;
}
