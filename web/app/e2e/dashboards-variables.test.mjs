// Variables of every kind: what is chosen is in the address, and a page that is loaded again shows the same.
// Panels that are repeated are asked for when they come into sight.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import {
  ask,
  board,
  chart,
  drawn,
  heard,
  METRICS,
  panelOf,
  pick,
  save,
  sendGauges,
  until,
  variable,
} from "./boards.mjs";
import { browse, serve, shots, watched } from "./harness.mjs";

let server;
let browser;

const SHARDS = Array.from({ length: 40 }, (_, at) => String(at).padStart(2, "0"));

before(async () => {
  server = await serve();
  browser = await browse();
  const load = (cluster, host, value) => ({ value, labels: { cluster, host } });
  await sendGauges(server, "load", [load("east", "a", 1), load("east", "b", 2), load("west", "c", 4)]);
  await sendGauges(
    server,
    "shard_load",
    SHARDS.map((shard, at) => ({ value: at, labels: { shard } })),
  );
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

const query = (name, text, more) => ({
  name,
  type: "query",
  datasource: METRICS,
  query: text,
  refresh: 1,
  sort: 1,
  current: {},
  ...more,
});
const SEVERAL = { multi: true, includeAll: true, current: { text: "All", value: "$__all" } };

const stat = (id, title, expr, more) =>
  chart(id, title, expr, { type: "stat", options: { reduceOptions: { calcs: ["lastNotNull"] } }, ...more });

const BOARD = board(
  "variables",
  [
    stat(1, "Sum", 'sum(load{cluster="$cluster", host=~"$host"})'),
    {
      id: 2,
      type: "text",
      title: "Words",
      // biome-ignore lint/suspicious/noTemplateCurlyInString: a dashboard writes variables so
      options: { mode: "html", content: "<p>${cluster}/${host:csv}/${level:csv}/${words}/${every}</p>" },
      gridPos: { x: 12, y: 0, w: 12, h: 8 },
    },
  ],
  [
    query("cluster", "label_values(load, cluster)"),
    query("host", 'label_values(load{cluster="$cluster"}, host)', SEVERAL),
    { name: "level", type: "custom", query: "low, mid : middle, high", ...SEVERAL },
    { name: "words", type: "textbox", query: "none", current: { text: "none", value: "none" } },
    { name: "every", type: "interval", query: "1m,5m,1h", current: { text: "5m", value: "5m" } },
    { name: "conditions", type: "adhoc", datasource: METRICS, filters: [] },
  ],
);

/** What the panels show: the sum, and the values in a text. */
async function shown(page) {
  const [sum] = await panelOf(page, "Sum").locator(".stat-value").allTextContents();
  return [sum, (await panelOf(page, "Words").locator("p").textContent()).trim()];
}

async function shows(page, expected) {
  let last;
  await until(
    async () => {
      last = JSON.stringify(await shown(page).catch(() => []));
      return last === JSON.stringify(expected);
    },
    JSON.stringify(expected),
    30_000,
  ).catch((error) => assert.fail(`${error.message}; it shows ${last}`));
}

const chosen = (page, name) => new URL(page.url()).searchParams.getAll(`var-${name}`);

test("what is chosen is put in, stands in the address, and is there again after a reload", async () => {
  await save(server, BOARD);
  const { page, context, complaints } = await watched(browser);
  await page.goto(`${server.url}/d/variables`);
  await drawn(page, { least: 2 });
  await shows(page, ["3", "east/a,b/low,middle,high/none/5m"]);

  await pick(page, "level", ["mid", "high"]);
  await pick(page, "every", ["1h"], { isSeveral: false });
  const words = page.getByRole("group", { name: "Variables" }).getByLabel("words", { exact: true });
  await words.fill("some words");
  await words.press("Enter");
  await shows(page, ["3", "east/a,b/middle,high/some words/1h"]);
  assert.deepEqual(chosen(page, "level"), ["middle", "high"]);
  assert.deepEqual(
    ["every", "words"].map((name) => chosen(page, name)),
    [["1h"], ["some words"]],
  );

  await page.reload();
  await drawn(page, { least: 2 });
  await shows(page, ["3", "east/a,b/middle,high/some words/1h"]);
  await page.screenshot({ path: join(shots, "dashboard-variables.png") });
  assert.deepEqual(complaints, []);
  await context.close();
});

test("a variable offers what the one before it holds, and what it offers no more is marked", async () => {
  await save(server, { ...BOARD, uid: "chained" });
  const { page, context } = await watched(browser);
  await page.goto(`${server.url}/d/chained`);
  await drawn(page, { least: 2 });
  const offered = async () => {
    await variable(page, "host").click();
    const options = page.getByRole("dialog", { name: "host" }).getByRole("option");
    await options.first().waitFor();
    const texts = await options.allTextContents();
    await page.keyboard.press("Escape");
    return texts;
  };
  assert.deepEqual(await offered(), ["All", "a", "b"]);
  await pick(page, "cluster", ["west"], { isSeveral: false });
  await shows(page, ["4", "west/c/low,middle,high/none/5m"]);
  assert.deepEqual(await offered(), ["All", "c"]);

  // A link may name what is not there.
  await page.goto(`${server.url}/d/chained?var-cluster=west&var-host=a&var-host=c`);
  await shows(page, ["4", "west/a,c/low,middle,high/none/5m"]);
  assert.deepEqual(await offered(), ["All", "anot in this time", "c"]);
  await context.close();
});

test("conditions are added to the queries, and can be taken away again", async () => {
  await save(server, { ...BOARD, uid: "conditions" });
  const { page, context, complaints } = await watched(browser);
  const { answers } = heard(page);
  await page.goto(`${server.url}/d/conditions`);
  await shows(page, ["3", "east/a,b/low,middle,high/none/5m"]);
  await page.getByRole("button", { name: "Add a condition" }).click();
  await page.getByLabel("Label", { exact: true }).fill("host");
  await page.getByLabel("Value", { exact: true }).fill("b");
  await page.getByLabel("Value", { exact: true }).press("Enter");
  await shows(page, ["2", "east/a,b/low,middle,high/none/5m"]);
  assert.deepEqual(chosen(page, "conditions"), ["host|=|b"]);
  const [{ query: asked }] = (await answers()).get("1").queries;
  assert.match(asked, /host="b"/);

  await page.reload();
  await shows(page, ["2", "east/a,b/low,middle,high/none/5m"]);
  await page.getByRole("button", { name: "Remove host" }).click();
  await shows(page, ["3", "east/a,b/low,middle,high/none/5m"]);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("of forty copies of a panel only those in sight are asked for", async () => {
  const shard = query("shard", "label_values(shard_load, shard)", SEVERAL);
  const panel = stat(1, "Shard $shard", 'shard_load{shard="$shard"}', {
    repeat: "shard",
    repeatDirection: "v",
    gridPos: { x: 0, y: 0, w: 24, h: 6 },
  });
  await save(server, board("repeated", [panel], [shard]));
  const layout = await ask(server, "/api/dashboards/layout", { uid: "repeated" });
  assert.equal(layout.panels.length, 40);
  const { page, context, complaints } = await watched(browser);
  const { keys, bodies } = heard(page);
  await page.goto(`${server.url}/d/repeated`);
  await drawn(page, { least: 3 });
  const value = (title) => panelOf(page, title).locator(".stat-value").textContent();
  assert.equal(await value("Shard 02"), "2");
  const first = new Set(keys());
  assert.ok(first.size >= 3 && first.size <= 10, `${first.size} were asked for at first`);

  await page.locator(".outlet").evaluate((outlet) => outlet.scrollTo(0, outlet.scrollHeight));
  await panelOf(page, "Shard 39").locator(".stat-value").waitFor();
  assert.equal(await value("Shard 39"), "39");
  const all = new Set(keys());
  assert.ok(all.size > first.size && all.size <= 20, `${all.size} were asked for in all`);
  // Each copy has its own value.
  const last = bodies.flatMap(({ panels }) => panels).at(-1);
  assert.ok(SHARDS.includes(last.scope.shard.value ?? last.scope.shard), JSON.stringify(last));

  await pick(page, "shard", ["07"]);
  await until(async () => (await page.locator(".panel").count()) === 1, "one copy");
  await until(async () => (await value("Shard 07")) === "7", "its value");
  assert.deepEqual(complaints, []);
  await context.close();
});
