// A query that is wrong is underlined at its place, wherever queries are written: in the explorers of all
// languages, and in the editor of a panel. In a dashboard, what is wrong stays where it is wrong.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { board, chart, drawn, LOGS, panelOf, save, standing, TRACES } from "./boards.mjs";
import { browse, demo, serve, shots, watched } from "./harness.mjs";

let server;
let browser;

before(async () => {
  server = await serve();
  browser = await browse();
  await demo(server, { history: "1h", seconds: 2 });
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

/** What is underlined, after which text; an editor is below a shadow root, which locators look into. */
async function underlined(editor) {
  const mark = editor.locator(".cm-lintRange-error");
  await mark.first().waitFor({ timeout: 20_000 });
  return mark.first().evaluate((element) => {
    const line = element.closest(".cm-line");
    const before = document.createRange();
    before.setStart(line, 0);
    before.setEndBefore(element);
    return { text: element.textContent, after: before.toString() };
  });
}

/** Pages with a query that is wrong: what is underlined, what stands before it, and a query that is right. */
const WRONG = [
  ["/explore/metrics", "node_load1 + * 2", "*", "node_load1 + ", "node_load1 * 2"],
  [
    "/explore/metrics",
    "rate(node_cpu_seconds_total[$__rate_interval]) + * 2",
    "*",
    "rate(node_cpu_seconds_total[$__rate_interval]) + ",
    "rate(node_cpu_seconds_total[$__rate_interval]) * 2",
  ],
  ["/traces", "{ span.ci.attempt = = 1 }", "=", "{ span.ci.attempt = ", "{ span.ci.attempt = 1 }"],
  [
    "/traces",
    "{ status = error } | rate() by (nosuch)",
    "nosuch",
    "{ status = error } | rate() by (",
    "{ status = error } | rate() by (name)",
  ],
  [
    "/traces",
    "{ } | compare({ status = })",
    "}",
    "{ } | compare({ status = ",
    "{ } | compare({ status = error })",
  ],
  [
    "/explore/logs",
    '{service_name="frontend"} |~ "["',
    "|~",
    '{service_name="frontend"} ',
    '{service_name="frontend"} |~ "a"',
  ],
  [
    "/explore/logs?view=patterns",
    "{service_name=frontend}",
    "frontend",
    "{service_name=",
    '{service_name="frontend"}',
  ],
  ["/explore/logs", "{service_name=frontend}", "frontend", "{service_name=", '{service_name="frontend"}'],
  [
    "/explore/sql",
    "select name frm spans limit 3",
    "spans",
    "select name frm ",
    "select name from spans limit 3",
  ],
  [
    "/explore/sql",
    "select 1 where now() < $to and frm spans",
    "spans",
    "select 1 where now() < $to and frm ",
    "select 1 where now() > $from",
  ],
  ["/explore/sql", "select nam from spans", "nam", "select ", "select name from spans limit 3"],
];

describe("a query that is wrong", () => {
  for (const [path, query, text, behind, right] of WRONG) {
    test(`is underlined at its place in ${path}: ${query}`, async () => {
      const { page, context, complaints } = await watched(browser);
      const address = new URL(path, server.url);
      address.searchParams.set("q", query);
      await page.goto(address.href);
      const editor = page.locator("main .editor").first();
      assert.deepEqual(await underlined(editor), { text, after: behind });
      assert.equal(await page.locator("main p.bad").count(), 1, "and what is wrong is said in words");
      if (path.startsWith("/explore/logs"))
        assert.equal(await page.locator("main .notice-error").count(), 0, "and it is said once");
      await editor.locator(".cm-content").click();
      await page.keyboard.press("Control+a");
      await page.keyboard.press("Delete");
      await page.keyboard.insertText(right);
      await page.keyboard.press("Control+Enter");
      await page.waitForFunction((q) => new URLSearchParams(location.search).get("q") === q, right);
      await editor.locator(".cm-lintRange-error").waitFor({ state: "detached" });
      await page.locator("main p.bad").waitFor({ state: "detached" });
      // The browser itself says that a request was answered with 400.
      assert.deepEqual(
        complaints.filter((one) => !/status of 4(00|22)/.test(one)),
        [],
      );
      await context.close();
    });
  }
});

test("an error in the second query of a flame is shown in its editor", async () => {
  const { page, context } = await watched(browser);
  const queries = new URLSearchParams({ q: "{ status = error }", qb: "{ status = = ok }" });
  await page.goto(`${server.url}/traces/flame?${queries}`);
  const editors = page.locator("main .editor");
  assert.deepEqual(await underlined(editors.nth(1)), { text: "=", after: "{ status = " });
  assert.equal(await editors.first().locator(".cm-lintRange-error").count(), 0);
  assert.match(await page.locator("main p.bad").textContent(), /^B: /);
  await context.close();
});

const CALM = { name: "calm", type: "custom", query: "a, b", current: { value: "a" } };

describe("a dashboard with a panel whose query is wrong", () => {
  const panels = [
    chart(1, "Right", "node_load1"),
    chart(2, "Metrics", "sum(node_load1) +* $calm"),
    chart(3, "Traces", "", {
      type: "table",
      datasource: TRACES,
      targets: [{ refId: "A", datasource: TRACES, queryType: "traceql", query: "{ status == error }" }],
    }),
    chart(4, "Logs", "", {
      type: "logs",
      datasource: LOGS,
      targets: [{ refId: "A", datasource: LOGS, expr: '{service_name="frontend"} | jsonn' }],
    }),
  ];

  before(() => save(server, board("wrong", panels, [CALM])));

  test("shows the error inside of the panel, at its place, and the other panels", async () => {
    const { page, context } = await watched(browser);
    await page.goto(`${server.url}/d/wrong`);
    await drawn(page, { least: 4 });
    const all = await standing(page);
    assert.deepEqual(
      all.map(({ title, error, hasData }) => [title, error !== undefined, hasData]),
      [
        ["Right", false, true],
        ["Metrics", true, false],
        ["Traces", true, false],
        ["Logs", true, false],
      ],
    );
    const wrong = panelOf(page, "Metrics").locator(".panel-query");
    assert.equal(await wrong.textContent(), "sum(node_load1) +* a", "as it was asked");
    assert.equal(await wrong.locator(".query-wrong").textContent(), "*");
    // A query that ends too early is wrong at its end.
    assert.equal(await panelOf(page, "Logs").locator(".query-wrong").textContent(), "n");
    await page.screenshot({ path: join(shots, "dashboard-wrong-queries.png") });
    await context.close();
  });

  for (const [id, text, behind] of [
    [2, "*", "sum(node_load1) +"],
    [3, "=", "{ status ="],
    [4, "n", '{service_name="frontend"} | json'],
  ]) {
    test(`the editor of panel ${id} underlines the place`, async () => {
      const { page, context } = await watched(browser);
      await page.goto(`${server.url}/d/wrong?editPanel=${id}`);
      const editor = page.locator(".edit-left .editor");
      assert.deepEqual(await underlined(editor), { text, after: behind });
      if (id === 2) {
        await page.screenshot({ path: join(shots, "panel-editor-wrong.png") });
        await editor.locator(".cm-content").fill("sum(node_load1) + 1");
        await editor.locator(".cm-lintRange-error").waitFor({ state: "detached" });
        await page.locator(".panel-failure").waitFor({ state: "detached" });
        await drawn(page);
        assert.deepEqual(
          (await standing(page)).map(({ error, hasData }) => [error, hasData]),
          [[undefined, true]],
        );
      }
      await context.close();
    });
  }
});

describe("a dashboard with SQL that is wrong", () => {
  const SQL = { type: "postgres", uid: "kymo-sql" };
  const rawSql = "select name frm spans limit 3";
  // Without a letter, a query is called by its place.
  const targets = [{ datasource: SQL, rawSql, format: "table", rawQuery: true }];
  const panel = chart(1, "Sql", "", { type: "table", datasource: SQL, targets });

  before(() => save(server, board("wrong-sql", [panel])));

  test("shows the place in the panel and in its editor", async () => {
    const { page, context } = await watched(browser);
    await page.goto(`${server.url}/d/wrong-sql`);
    await drawn(page);
    assert.equal(await panelOf(page, "Sql").locator(".panel-query").textContent(), rawSql);
    assert.equal(await panelOf(page, "Sql").locator(".query-wrong").textContent(), "spans");
    await page.goto(`${server.url}/d/wrong-sql?editPanel=1`);
    const editor = page.locator(".edit-left .editor");
    assert.deepEqual(await underlined(editor), { text: "spans", after: "select name frm " });
    await context.close();
  });
});

test("a variable whose query is wrong says so, and the rest works", async () => {
  const broken = {
    name: "broken",
    type: "query",
    datasource: TRACES,
    query: { type: 1, label: "", refId: "v" },
    refresh: 1,
  };
  const unclear = {
    name: "unclear",
    type: "query",
    datasource: chart(1).datasource,
    query: "label_values(x{,",
  };
  await save(
    server,
    board(
      "broken",
      [chart(1, "Load", "node_load1"), chart(2, "By $calm", "node_load5")],
      [broken, unclear, CALM],
    ),
  );
  const { page, context, complaints } = await watched(browser);
  await page.goto(`${server.url}/d/broken`);
  await drawn(page, { least: 2 });
  const variable = (name) =>
    page.getByRole("group", { name: "Variables" }).locator(".variable").filter({ hasText: name });
  assert.match(await variable("broken").getByRole("alert").textContent(), /names no label/);
  assert.match(await variable("unclear").getByRole("alert").textContent(), /parse error: unexpected ","/);
  assert.equal(await variable("calm").getByRole("alert").count(), 0);
  assert.deepEqual(
    (await standing(page)).map(({ title, error, hasData }) => [title, error, hasData]),
    [
      ["Load", undefined, true],
      ["By a", undefined, true],
    ],
  );
  await page.screenshot({ path: join(shots, "dashboard-broken-variable.png") });
  assert.deepEqual(complaints, []);
  await context.close();
});
