// Dashboards of others that tests and figures use: they are not ours to ship, and are read from the test data.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { drawn } from "./boards.mjs";

const data = process.env.KYMO_TEST_DATA;
export const missing = data === undefined && "KYMO_TEST_DATA names no directory of test data";
export const given = (name) => readFileSync(join(data, "dashboards", name), "utf8");

/** The dashboard with its first rows open, as many as it takes to have that many panels in sight. */
export function withRowsOpen(dashboard, leastPanels) {
  let panels = 0;
  let shift = 0;
  const opened = [];
  for (const one of dashboard.panels) {
    const moved = (panel) => ({ ...panel, gridPos: { ...panel.gridPos, y: panel.gridPos.y + shift } });
    const inside = one.panels ?? [];
    const opens = one.type === "row" && inside.length > 0 && panels < leastPanels;
    if (!opens) {
      opened.push(moved(one));
      panels += one.type === "row" ? 0 : 1;
      continue;
    }
    const row = moved({ ...one, collapsed: false, panels: [] });
    const first = Math.min(...inside.map(({ gridPos }) => gridPos.y));
    const bottom = Math.max(...inside.map(({ gridPos }) => gridPos.y + gridPos.h));
    const below = row.gridPos.y + 1 - first;
    opened.push(row, ...inside.map((p) => ({ ...p, gridPos: { ...p.gridPos, y: p.gridPos.y + below } })));
    panels += inside.length;
    shift += bottom - first;
  }
  return { ...dashboard, panels: opened };
}

/** Opens a dashboard in a window that all of it is in sight of: milliseconds until its panels are drawn. */
export async function drawnAfter(page, address, least) {
  await page.setViewportSize({ width: 1400, height: 9000 });
  await page.goto(address);
  await drawn(page, { least });
  return page.evaluate(() => performance.now());
}
