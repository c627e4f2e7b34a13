// Dashboards are made and changed in the page: panels by form and as JSON, moved by keys, saved, compared with
// earlier versions and taken back. What somebody else has saved meanwhile is not lost unasked.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { ask, board, chart, choose, drawn, exported, panelOf, save, sendGauges, until } from "./boards.mjs";
import { browse, serve, shots, watched } from "./harness.mjs";

let server;
let browser;

before(async () => {
  server = await serve();
  browser = await browse();
  await sendGauges(server, "queue_length", [{ value: 7, labels: { queue: "a" } }]);
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

const stat = (id, title, expr, more) =>
  chart(id, title, expr, { type: "stat", options: { reduceOptions: { calcs: ["lastNotNull"] } }, ...more });

const stored = async (uid) => (await ask(server, `/api/dashboards/${uid}`)).dashboard;

/** Writes over all that is in an editor. */
async function write(page, label, text) {
  await page.locator(`.cm-content[aria-label="${label}"]`).click();
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.insertText(text);
}

/** Saves what was changed, with what is said about it. */
async function saveAs(page, message, title) {
  await page.getByRole("button", { name: "Save", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Save the dashboard" });
  if (title) await dialog.getByLabel("Title").fill(title);
  await dialog.getByLabel("What has changed").fill(message);
  await dialog.getByRole("button", { name: "Save", exact: true }).click();
  return dialog;
}

async function saved(page) {
  await page.getByText("not saved", { exact: true }).waitFor({ state: "detached" });
}

test("a new dashboard gets a panel by its form, its query and its JSON, and is saved", async () => {
  const { page, context, complaints } = await watched(browser);
  await page.goto(`${server.url}/d/new`);
  await page.getByRole("button", { name: "Add panel" }).click();
  await page.getByLabel("Title", { exact: true }).fill("Waiting");
  await page.getByLabel("Kind", { exact: true }).selectOption("stat");
  await write(page, "Query A", "max(queue_length)");
  await panelOf(page, "Waiting").locator(".stat-value", { hasText: /^7$/ }).waitFor();
  await page.screenshot({ path: join(shots, "dashboard-edit-panel.png") });

  await page.getByRole("tab", { name: "JSON" }).click();
  const editor = page.locator('.cm-content[aria-label="The panel"]');
  await editor.waitFor();
  const panel = {
    ...stat(1, "Twice", "2 * max(queue_length)"),
    fieldConfig: { defaults: { unit: "suffix:jobs" }, overrides: [] },
  };
  await write(page, "The panel", JSON.stringify(panel));
  await panelOf(page, "Twice")
    .locator(".stat-value", { hasText: /^14 jobs$/ })
    .waitFor();
  await page.getByRole("tab", { name: "Options" }).click();
  assert.equal(await page.getByLabel("Title", { exact: true }).inputValue(), "Twice");

  await page.getByRole("button", { name: "Back to the dashboard" }).click();
  await saveAs(page, "begun", "Queues");
  await page.waitForURL((url) => /\/d\/(?!new)/.test(url.pathname));
  const uid = new URL(page.url()).pathname.split("/").at(-1);
  const made = await stored(uid);
  assert.deepEqual([made.title, made.panels.length, made.panels[0]], ["Queues", 1, panel]);
  await drawn(page);
  assert.deepEqual(await exported(page), made);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("a panel that is added and discarded leaves nothing", async () => {
  await save(server, board("discard", [stat(1, "One", "queue_length")]));
  const { page, context } = await watched(browser);
  await page.goto(`${server.url}/d/discard`);
  await drawn(page);
  await page.getByRole("button", { name: "Edit", exact: true }).click();
  await page.getByRole("button", { name: "Add panel" }).click();
  await page.getByLabel("Title", { exact: true }).fill("Not wanted");
  await page.getByRole("button", { name: "Discard changes" }).click();
  await panelOf(page, "One").waitFor();
  await saved(page);
  await until(async () => (await page.locator(".panel").count()) === 1, "one panel");
  await context.close();
});

test("panels are moved and made larger by keys, however fast they are pressed", async () => {
  const panels = [stat(1, "One", "queue_length"), stat(2, "Two", "queue_length")];
  await save(server, board("move", panels));
  const { page, context, complaints } = await watched(browser);
  await page.goto(`${server.url}/d/move`);
  await drawn(page, { least: 2 });
  await page.keyboard.press("e");
  await page.getByRole("button", { name: /^Move Two:/ }).focus();
  for (const key of ["ArrowLeft", "ArrowLeft", "ArrowLeft", "Shift+ArrowDown", "Shift+ArrowLeft"])
    await page.keyboard.press(key);
  // What was in the way is below by then.
  const place = (title) =>
    panelOf(page, title)
      .locator("xpath=..")
      .evaluate(({ style }) => `${style.gridColumn} ${style.gridRow}`);
  await until(async () => (await place("Two")) === "10 / span 11 1 / span 9", "the panel at its place");
  assert.equal(await place("One"), "1 / span 12 10 / span 8");
  await saveAs(page, "moved");
  await saved(page);
  assert.deepEqual(
    (await stored("move")).panels.map(({ gridPos }) => gridPos),
    [
      { x: 0, y: 9, w: 12, h: 8 },
      { x: 9, y: 0, w: 11, h: 9 },
    ],
  );
  assert.deepEqual(complaints, []);
  await context.close();
});

test("what somebody else has saved meanwhile is told, and only saved over if asked", async () => {
  const mine = board("conflict", [stat(1, "Mine", "queue_length")]);
  await save(server, mine);
  const { page, context } = await watched(browser);
  await page.goto(`${server.url}/d/conflict`);
  await drawn(page);
  await page.getByRole("button", { name: "Edit", exact: true }).click();
  await choose(page, "Mine", "Duplicate");
  await until(async () => (await page.locator(".panel").count()) === 2, "the copy");
  const theirs = { ...mine, panels: [stat(1, "Theirs", "queue_length")] };
  await ask(server, "/api/dashboards", { dashboard: theirs, version: 1, message: "theirs" });

  const answer = page.waitForResponse((one) => one.request().method() === "POST" && one.status() === 409);
  const dialog = await saveAs(page, "mine");
  await answer;
  assert.match(await dialog.getByRole("alert").textContent(), /version/);
  assert.equal((await stored("conflict")).panels[0].title, "Theirs");
  await page.screenshot({ path: join(shots, "dashboard-conflict.png") });
  await dialog.getByRole("button", { name: "Save over it" }).click();
  await saved(page);
  assert.deepEqual(
    (await stored("conflict")).panels.map(({ title }) => title),
    ["Mine", "Mine"],
  );
  await context.close();
});

test("versions are compared, and one that is taken back is the newest", async () => {
  const first = board("versions", [stat(1, "Before", "queue_length")], [], { kept: { unknown: [1, null] } });
  await save(server, first);
  const second = { ...first, panels: [stat(1, "After", "queue_length")] };
  await ask(server, "/api/dashboards", { dashboard: second, version: 1, message: "second" });
  const { page, context, complaints } = await watched(browser);
  await page.goto(`${server.url}/d/versions`);
  await drawn(page);
  assert.equal(await panelOf(page, "After").count(), 1);
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("button", { name: "Versions", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Versions" });
  await dialog.getByRole("button", { name: /^1/ }).click();
  const difference = dialog.getByRole("group", { name: "What has changed since then" });
  await difference.waitFor();
  const lines = async (kind) =>
    (await difference.locator(`.diff-${kind}`).allTextContents()).map((line) => line.trim());
  assert.deepEqual(
    (await lines("removed")).filter((line) => line.includes("title")),
    ['−       "title": "Before",'],
  );
  assert.deepEqual(
    (await lines("added")).filter((line) => line.includes("title")),
    ['+       "title": "After",'],
  );
  await page.screenshot({ path: join(shots, "dashboard-versions.png") });
  await dialog.getByRole("button", { name: "Take this version back" }).click();
  await panelOf(page, "Before").waitFor();
  await saveAs(page, "back");
  await saved(page);
  const { version: _, ...now } = await stored("versions");
  assert.deepEqual(now, first);
  const { versions } = await ask(server, "/api/dashboards/versions/versions");
  assert.deepEqual(versions.map(({ message }) => message).sort(), ["back", "first", "second"]);
  const { version: __, ...file } = await exported(page);
  assert.deepEqual(file, first);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("what saving makes of an older dashboard is told, and it is given back as it came", async () => {
  const { options: _, ...old } = stat(1, "Waiting", "queue_length");
  const came = {
    ...board("older", [{ ...old, type: "graph", lines: true, fill: 2, yaxes: [{ format: "short" }] }]),
    schemaVersion: 22,
    __inputs: [],
    __requires: [{ type: "panel", id: "graph" }],
  };
  await save(server, came);
  const { page, context, complaints } = await watched(browser);
  await page.goto(`${server.url}/d/older`);
  await drawn(page);
  await page.getByRole("button", { name: "Edit", exact: true }).click();
  await choose(page, "Waiting", "Duplicate");
  await until(async () => (await page.locator(".panel").count()) === 2, "the copy");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  const told = page.getByRole("dialog", { name: "Save the dashboard" }).getByRole("status");
  assert.match(
    await told.textContent(),
    /schema version 22 .* 42.*__inputs, __requires are left out.*versions/,
  );
  await page.screenshot({ path: join(shots, "dashboard-converted.png") });
  await page.keyboard.press("Escape");
  await told.waitFor({ state: "detached" });
  await saveAs(page, "second");
  await saved(page);
  const now = await stored("older");
  assert.deepEqual([now.schemaVersion, now.panels[0].type, now.__inputs], [42, "timeseries", undefined]);

  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("button", { name: "Versions", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Versions" });
  await dialog.getByRole("button", { name: /^1/ }).click();
  await dialog.getByRole("button", { name: "Take this version back" }).click();
  await until(async () => (await page.locator(".panel").count()) === 1, "the one panel");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  const saving = page.getByRole("dialog", { name: "Save the dashboard" });
  await saving.waitFor();
  assert.equal(await told.count(), 0, "nothing is made of what is taken back");
  await page.keyboard.press("Escape");
  await saving.waitFor({ state: "hidden" });
  await saveAs(page, "back");
  await saved(page);
  assert.deepEqual(await stored("older"), came);
  assert.deepEqual(await exported(page), came);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("a click beside a window asks before it drops what was typed", async () => {
  await save(server, board("typed", [stat(1, "One", "queue_length")]));
  const { page, context } = await watched(browser);
  let isDropped = false;
  const questions = [];
  page.on("dialog", (question) => {
    questions.push(question.message());
    return isDropped ? question.accept() : question.dismiss();
  });
  await page.goto(`${server.url}/d/typed`);
  await drawn(page);
  const beside = () => page.mouse.click(4, 4);
  const open = async (item) => {
    await page.getByRole("button", { name: "More" }).click();
    await page.getByRole("button", { name: item, exact: true }).click();
  };
  await open("Settings and variables");
  const settings = page.getByRole("dialog", { name: "Settings of the dashboard" });
  await settings.getByLabel("Title", { exact: true }).fill("Typed");
  await beside();
  assert.equal(await settings.getByLabel("Title", { exact: true }).inputValue(), "Typed");
  isDropped = true;
  await beside();
  await settings.waitFor({ state: "detached" });
  assert.equal(questions.length, 2);

  isDropped = false;
  await open("JSON");
  const json = page.getByRole("dialog", { name: "JSON of the dashboard" });
  await json.locator(".cm-content").waitFor();
  // Nothing was typed yet, so nothing is asked.
  await beside();
  await json.waitFor({ state: "detached" });
  assert.equal(questions.length, 2);
  await open("JSON");
  await json.locator(".cm-content").waitFor();
  await write(page, "JSON of the dashboard", '{ "title": ');
  await beside();
  assert.equal(questions.length, 3);
  assert.match(await json.locator(".cm-content").textContent(), /^\{ "title": /);
  await context.close();
});

test("rows that were folded and opened are in the address", async () => {
  const row = (id, title, y, collapsed, panels = []) => ({
    id,
    type: "row",
    title,
    collapsed,
    panels,
    gridPos: { x: 0, y, w: 24, h: 1 },
  });
  const at = (y) => ({ gridPos: { x: 0, y, w: 12, h: 4 } });
  await save(
    server,
    board("rows", [
      row(10, "Open", 0, false),
      stat(1, "Inside", "queue_length", at(1)),
      row(11, "Closed", 5, true, [stat(2, "Hidden", "queue_length", at(6))]),
    ]),
  );
  const { page, context, complaints } = await watched(browser);
  await page.goto(`${server.url}/d/rows`);
  await drawn(page);
  const titles = () =>
    page.locator(".panel").evaluateAll((all) => all.map((one) => one.getAttribute("aria-label")));
  assert.deepEqual(await titles(), ["Inside"]);
  await page.getByRole("button", { name: /^Open/ }).click();
  await page.getByRole("button", { name: /^Closed/ }).click();
  await panelOf(page, "Hidden").waitFor();
  await page.reload();
  await drawn(page);
  assert.deepEqual(await titles(), ["Hidden"]);
  await page.getByRole("button", { name: /^Open/ }).click();
  await page.getByRole("button", { name: /^Closed/ }).click();
  await panelOf(page, "Inside").waitFor();
  assert.ok(!/opened|folded/.test(page.url()), "what is as it is written is not in the address");
  assert.deepEqual(complaints, []);
  await context.close();
});
