// Dashboards for tests with a browser: how they are saved and asked, and what their panels show.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { attributes, nanosAgo, send } from "./harness.mjs";

export const METRICS = { type: "prometheus", uid: "kymo-prometheus" };
export const TRACES = { type: "tempo", uid: "kymo-tempo" };
export const LOGS = { type: "loki", uid: "kymo-loki" };

/** A panel over one query of metrics. */
export function chart(id, title, expr, more = {}) {
  return {
    id,
    type: "timeseries",
    title,
    datasource: METRICS,
    targets: [{ refId: "A", datasource: METRICS, expr }],
    gridPos: { x: ((id - 1) % 2) * 12, y: Math.floor((id - 1) / 2) * 8, w: 12, h: 8 },
    ...more,
  };
}

/** A dashboard of panels and variables, over the last hour. */
export function board(uid, panels, variables = [], more = {}) {
  return {
    uid,
    title: `Board ${uid}`,
    schemaVersion: 42,
    time: { from: "now-1h", to: "now" },
    templating: { list: variables },
    panels,
    ...more,
  };
}

/** Asks the server; a body is sent as JSON. What is answered in lines is a list of them. */
export async function ask(server, path, body) {
  const response = await fetch(server.url + path, {
    method: body === undefined ? "GET" : "POST",
    headers: body === undefined ? {} : { "Content-Type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  assert.ok(response.ok, `${path}: ${response.status} ${text.slice(0, 300)}`);
  const isOfLines = response.headers.get("content-type") === "application/x-ndjson";
  return isOfLines ? text.trimEnd().split("\n").map(JSON.parse) : JSON.parse(text);
}

export async function save(server, dashboard) {
  return (await ask(server, "/api/dashboards", { dashboard, message: "first" })).uid;
}

/** Asks again until something holds, or fails when it has not for long. */
export async function until(holds, what, millis = 60_000) {
  for (const end = Date.now() + millis; Date.now() < end; ) {
    if (await holds()) return;
    await new Promise((done) => setTimeout(done, 200));
  }
  assert.fail(`${what}: not within ${millis} ms`);
}

/** Longer than the page waits before it writes into the address what changes at every step. */
const STAYS_MILLIS = 1000;

/** What is read again and again, once it stays the same. */
export async function stayed(read, what) {
  let last;
  let since = Date.now();
  await until(async () => {
    const now = await read();
    if (!isDeepStrictEqual(now, last)) {
      last = now;
      since = Date.now();
    }
    return Date.now() - since >= STAYS_MILLIS;
  }, `${what} that stays`);
  return last;
}

/** Whether the newest answer for a panel has a value at all. */
export function hasValues({ frames = [] }) {
  const isValue = (value) => value !== null && value !== "" && value !== "NaN";
  return frames.some(({ fields }) =>
    fields.some(({ type, values }) => type !== "time" && values.some(isValue)),
  );
}

/** The panel of a title. */
export function panelOf(page, title) {
  return page.locator(".panel").and(page.getByRole("group", { name: title, exact: true }));
}

/**
 * Keeps what is asked for panels, and what is answered: `answers()` waits for what is under way, and is the
 * newest answer of each panel by its key.
 */
export function heard(page) {
  const bodies = [];
  const texts = [];
  page.on("request", (request) => {
    if (!request.url().endsWith("/api/dashboards/query")) return;
    bodies.push(request.postDataJSON());
    // One that is given up has no answer.
    texts.push(
      request.response().then(
        (response) => response?.text().catch(() => "") ?? "",
        () => "",
      ),
    );
  });
  return {
    bodies,
    keys: () => bodies.flatMap(({ panels }) => panels.map(({ key }) => key)),
    async answers() {
      const lines = (await Promise.all(texts)).join("\n").split("\n").filter(Boolean);
      return new Map(lines.map((line) => JSON.parse(line)).map((line) => [line.panel, line]));
    },
  };
}

/** Does something of a panel's menu. */
export async function choose(page, title, item) {
  await panelOf(page, title)
    .getByRole("button", { name: `Menu of ${title}` })
    .click();
  await page.getByRole("button", { name: item, exact: true }).click();
}

/** The data of a panel as its menu's "View as table" shows it: an object for each row, by the heads of its columns. */
export async function asTable(page, title) {
  await choose(page, title, "View as table");
  const grid = panelOf(page, title).locator("[role=grid]");
  await grid.locator("[role=row]").nth(1).waitFor();
  const rows = await grid
    .locator("[role=row]")
    .evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent.trim())));
  await choose(page, title, "View as drawn");
  const [heads, ...cells] = rows;
  return cells.map((row) => Object.fromEntries(row.map((text, at) => [heads[at], text])));
}

/** The bar of variables' button of one of them. */
export function variable(page, name) {
  const bar = page.getByRole("group", { name: "Variables" });
  return bar.getByRole("button", { name: new RegExp(`^${name} `) });
}

/** Chooses values of a variable: one that takes a single value is closed by that. */
export async function pick(page, name, texts, { isSeveral = true } = {}) {
  await variable(page, name).click();
  const open = page.getByRole("dialog", { name, exact: true });
  if (isSeveral) await open.getByRole("button", { name: "None" }).click();
  for (const text of texts) await open.getByRole("option", { name: text, exact: true }).click();
  if (isSeveral) await open.getByRole("button", { name: "Apply" }).click();
  await open.waitFor({ state: "detached" });
}

/** The file that the dashboard's menu exports. */
export async function exported(page) {
  await page.getByRole("button", { name: "More" }).click();
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Export JSON" }).click(),
  ]);
  return JSON.parse(readFileSync(await file.path(), "utf8"));
}

/** Sends points of a gauge with labels, of a while ago: panels ask at steps, the last of which may lie behind. */
export async function sendGauges(server, name, points) {
  const dataPoints = points.map(({ value, labels = {}, ...more }) => ({
    timeUnixNano: nanosAgo(60_000),
    asDouble: value,
    attributes: attributes(labels),
    ...more,
  }));
  const scopeMetrics = [{ metrics: [{ name, gauge: { dataPoints } }] }];
  await send(server, "metrics", { resourceMetrics: [{ resource: { attributes: [] }, scopeMetrics }] });
  // What was sent is found when an answer has it.
  await until(async () => {
    const { data } = await ask(
      server,
      `/prometheus/api/v1/query?query=${encodeURIComponent(`count(${name})`)}`,
    );
    return Number(data.result[0]?.value[1]) === points.length;
  }, `${points.length} series of ${name}`);
}

/** Waits until every panel in the window has its answer and is drawn. */
export async function drawn(page, { least = 1, timeout = 60_000 } = {}) {
  await page.waitForFunction(
    (wanted) => {
      const window = document.querySelector(".outlet").getBoundingClientRect();
      const inSight = [...document.querySelectorAll(".panel")].filter((panel) => {
        const { top, bottom } = panel.getBoundingClientRect();
        return bottom > window.top && top < window.bottom;
      });
      const isDrawn = (panel) =>
        !panel.querySelector(".panel-progress") && panel.querySelector(".panel-content")?.firstElementChild;
      return inSight.length >= wanted && inSight.every(isDrawn);
    },
    least,
    { timeout },
  );
  // Canvases are drawn by effects, which come after a frame.
  await page.evaluate(async () => {
    for (let frame = 0; frame < 3; frame += 1)
      await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  });
}

/** What each panel in the document shows: an error, nothing, or data. */
export function standing(page) {
  return page.locator(".panel").evaluateAll((panels) => {
    const isPainted = (canvas) => {
      if (canvas.width === 0 || canvas.height === 0) return false;
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      return data.some((byte, at) => at % 4 === 3 && byte > 0);
    };
    const showsData = (content) => {
      const nothing = ".panel-nodata, .panel-failure:not(.panel-failure-over)";
      if (content === null || content.querySelector(nothing)) return false;
      const grid = content.querySelector("[role=grid]");
      if (grid) return grid.querySelectorAll("[role=row]").length > 1;
      const canvases = [...content.querySelectorAll("canvas")];
      return canvases.length > 0 ? canvases.some(isPainted) : content.textContent.trim() !== "";
    };
    return panels.map((panel) => ({
      title: panel.getAttribute("aria-label"),
      error: panel.querySelector(".panel-failure")?.textContent,
      isShown: panel.querySelector(".panel-content") !== null,
      hasData: showsData(panel.querySelector(".panel-content")),
    }));
  });
}
