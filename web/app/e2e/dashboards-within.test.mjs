// What is within what panels show: tables within rows, one trace as its spans, values within texts, and what a
// dashboard says of times.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { ask, board, chart, drawn, panelOf, save, sendGauges, TRACES, until } from "./boards.mjs";
import { browse, findings, nanosAgo, sendSpans, serve, shots, watched } from "./harness.mjs";

let server;
let browser;

const TRACE = "5bd66ef5095369c7b0d1f8f4bd33716a";
const ROOT = "00000000000000a1";
const CHILD = "00000000000000a2";
const FOUND = { refId: "A", datasource: TRACES, queryType: "traceql", tableType: "traces" };
const QUERY = '{ resource.service.name = "nested" } | select(span.attempt)';

before(async () => {
  server = await serve();
  browser = await browse();
  await sendGauges(server, "waiting", [
    { value: 1, labels: { host: "a", job: "x" } },
    { value: 2, labels: { host: "a", job: "y" } },
    { value: 4, labels: { host: "b", job: "x" } },
  ]);
  await sendGauges(
    server,
    "many",
    Array.from({ length: 40 }, (_, at) => ({ value: at, labels: { n: `n${at}` } })),
  );
  const span = (spanId, name, more) => ({
    traceId: TRACE,
    spanId,
    name,
    attributes: { attempt: 3 },
    ...more,
  });
  await sendSpans(server, { "service.name": "nested" }, [
    span(ROOT, "build", { startTimeUnixNano: nanosAgo(62_000), endTimeUnixNano: nanosAgo(60_000) }),
    span(CHILD, "compile", {
      parentSpanId: ROOT,
      startTimeUnixNano: nanosAgo(61_500),
      endTimeUnixNano: nanosAgo(61_000),
      status: { code: 2 },
    }),
  ]);
  await save(server, board("within", [tempo(1, "Found", "table", QUERY), tempo(2, "One", "traces", TRACE)]));
  const asked = { uid: "within", from: "now-1h", to: "now", panels: [{ key: "2", maxDataPoints: 100 }] };
  await until(async () => {
    const [{ frames = [] }] = await ask(server, "/api/dashboards/query", asked);
    return frames[0]?.fields[0].values.length === 2;
  }, "the spans that were sent");
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

function tempo(id, title, type, query) {
  return chart(id, title, "", { type, datasource: TRACES, targets: [{ ...FOUND, query }] });
}

/** The texts of the rows that are folded out in a panel. */
function foldedOut(page, title) {
  return panelOf(page, title)
    .locator(".table-nested")
    .evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent.trim())));
}

test("rows of a group fold out below it, by pointer and keys, or are all open", async () => {
  const table = (id, title, options) =>
    chart(id, title, "", {
      type: "table",
      targets: [{ refId: "A", expr: "waiting", instant: true, range: false, format: "table" }],
      transformations: [
        { id: "filterFieldsByName", options: { include: { names: ["host", "job", "Value"] } } },
        {
          id: "groupToNestedTable",
          options: {
            fields: {
              host: { operation: "groupby", aggregations: [] },
              Value: { operation: "aggregate", aggregations: ["sum"] },
            },
            ...options,
          },
        },
      ],
    });
  const open = { expandAllRows: true, showSubframeHeaders: false };
  await save(server, board("groups", [table(1, "Closed", {}), table(2, "Open", open)]));
  const { page, context, complaints } = await watched(browser);
  await page.goto(`${server.url}/d/groups`);
  await drawn(page, { least: 2 });
  const fold = (title, host) =>
    panelOf(page, title).getByRole("button", { name: `Rows of host ${host}`, exact: true });
  assert.deepEqual(await foldedOut(page, "Closed"), []);
  assert.equal(await fold("Closed", "a").getAttribute("aria-expanded"), "false");
  await fold("Closed", "a").focus();
  await page.keyboard.press("Enter");
  await panelOf(page, "Closed").locator("[aria-expanded=true]").waitFor();
  const [heads, ...rows] = await foldedOut(page, "Closed");
  assert.deepEqual(heads, ["", "job"]);
  assert.deepEqual(rows.map((row) => row[1]).sort(), ["x", "y"]);
  await page.screenshot({ path: join(shots, "dashboard-nested.png") });
  assert.deepEqual(await findings(page), []);
  await fold("Closed", "a").click();
  await until(async () => (await foldedOut(page, "Closed")).length === 0, "the rows folded in");

  assert.deepEqual((await foldedOut(page, "Open")).map((row) => row[1]).sort(), ["x", "x", "y"]);
  await fold("Open", "b").click();
  await panelOf(page, "Open").locator(".nested-fold[aria-expanded=false]").waitFor();
  assert.deepEqual((await foldedOut(page, "Open")).map((row) => row[1]).sort(), ["x", "y"]);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("traces that are found fold out to their spans, and one trace is drawn as its spans", async () => {
  const { page, context, complaints } = await watched(browser);
  await page.goto(`${server.url}/d/within`);
  await drawn(page, { least: 2 });
  await panelOf(page, "Found")
    .getByRole("button", { name: `Rows of Trace ID ${TRACE}` })
    .click();
  await panelOf(page, "Found").locator("[aria-expanded=true]").waitFor();
  const [heads, ...rows] = await foldedOut(page, "Found");
  const spanAt = heads.indexOf("Span ID");
  assert.deepEqual(rows.map((row) => row[spanAt]).sort(), [ROOT, CHILD]);
  assert.deepEqual(
    rows.map((row) => row[heads.indexOf("attempt")]),
    ["3", "3"],
  );
  const link = panelOf(page, "Found").locator(".table-nested").getByRole("link", { name: CHILD });
  assert.equal(await link.getAttribute("href"), `/trace/${TRACE}?span=${CHILD}`);

  const one = panelOf(page, "One");
  assert.equal(
    await one.getByRole("link", { name: "Open the trace" }).getAttribute("href"),
    `/trace/${TRACE}`,
  );
  const names = await one.locator(".one-trace-name").allTextContents();
  assert.deepEqual(
    names.map((name) => name.trim()),
    ["nested build", "errornested compile"],
  );
  // The second is a quarter of the first, and begins with its second quarter.
  const bars = await one.locator(".one-trace-bar").evaluateAll((all) =>
    all.map((bar) => {
      const { left, width } = bar.getBoundingClientRect();
      const track = bar.parentElement.getBoundingClientRect();
      return [(left - track.left) / track.width, width / track.width].map(
        (part) => Math.round(part * 20) / 20,
      );
    }),
  );
  assert.deepEqual(bars, [
    [0, 1],
    [0.25, 0.25],
  ]);
  await page.screenshot({ path: join(shots, "dashboard-one-trace.png") });
  assert.deepEqual(complaints, []);
  await one.getByRole("link", { name: "compile" }).click();
  await page.waitForURL(new RegExp(`/trace/${TRACE}\\?.*span=${CHILD}`));
  await context.close();
});

const MARKUP = '<h1>Big</h1> [x](https://example.com) **b** `c` <img src="x">';

test("values within texts are texts, whatever markup they look like", async () => {
  const what = { name: "what", type: "textbox", query: "nothing" };
  const text = (id, title, mode, content) =>
    chart(id, title, "", { type: "text", targets: [], options: { mode, content } });
  const described = "Of **$what**";
  await save(
    server,
    board(
      "values",
      [
        text(1, "Markdown", "markdown", "# Title\n\nOf **$what** and `$what`\n\n$what"),
        text(2, "Html", "html", '<p title="$what">Of <b>$what</b></p>'),
        text(3, "Code", "code", "# $what"),
        { ...chart(4, "Described", "many"), description: described },
      ],
      [what],
    ),
  );
  const { page, context, complaints } = await watched(browser);
  await page.goto(`${server.url}/d/values?var-what=${encodeURIComponent(MARKUP)}`);
  const markdown = panelOf(page, "Markdown").locator(".text-panel");
  await markdown.locator("strong").waitFor();
  assert.equal(await markdown.locator("strong").textContent(), MARKUP);
  assert.equal(await markdown.locator("code").textContent(), MARKUP);
  assert.deepEqual(await markdown.locator("h1").allTextContents(), ["Title"]);
  assert.equal(await markdown.locator("a, img").count(), 0);
  const html = panelOf(page, "Html").locator(".text-panel");
  await html.locator("b").waitFor();
  assert.equal(await html.locator("b").textContent(), MARKUP);
  assert.equal(await html.locator("p").getAttribute("title"), MARKUP);
  assert.equal(await html.locator("a, h1, img").count(), 0);
  assert.equal(await panelOf(page, "Code").locator("pre").textContent(), `# ${MARKUP}`);
  await panelOf(page, "Described").getByRole("button", { name: "What this shows" }).click();
  const description = page.locator(".panel-description");
  await description.locator("strong").waitFor();
  assert.equal(await description.locator("strong").textContent(), MARKUP);
  assert.equal(await description.locator("a, h1, img").count(), 0);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("a bar gauge shows all series, however many", async () => {
  const panel = chart(1, "Many", "many", { type: "bargauge", gridPos: { x: 0, y: 0, w: 24, h: 20 } });
  await save(server, board("gauges", [panel]));
  const { page, context, complaints } = await watched(browser);
  await page.goto(`${server.url}/d/gauges`);
  await drawn(page);
  assert.equal(await panelOf(page, "Many").getByRole("listitem").count(), 40);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("the pickers offer what a dashboard says, or are not there", async () => {
  const quick = { from: "now-1fQ/fQ", to: "now-1fQ/fQ", display: "Last fiscal quarter" };
  const timepicker = { quick_ranges: [quick], refresh_intervals: ["10s", "2h"] };
  const panels = [chart(1, "Waiting", "waiting")];
  await save(server, board("picked", panels, [], { timepicker, fiscalYearStartMonth: 1 }));
  await save(server, board("unpicked", panels, [], { timepicker: { hidden: true } }));
  const { page, context, complaints } = await watched(browser);
  await page.goto(`${server.url}/d/picked`);
  await drawn(page);
  await page.getByRole("button", { name: "Live mode" }).click();
  const intervals = page.getByRole("dialog", { name: "Live mode" }).getByRole("button");
  assert.deepEqual(await intervals.allTextContents(), ["Off", "Every 10s", "Every 2h"]);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Time range" }).click();
  const asked = page.waitForRequest((one) => one.url().endsWith("/api/dashboards/layout"));
  await page.getByRole("button", { name: "Last fiscal quarter" }).click();
  const { from, to } = (await asked).postDataJSON();
  // Quarters of a year that begins in February begin in February, May, August and November.
  const [begin, end] = [new Date(from), new Date(to + 1)];
  assert.deepEqual([begin.getMonth() % 3, begin.getDate(), end.getMonth() % 3, end.getDate()], [1, 1, 1, 1]);
  assert.equal(new URL(page.url()).searchParams.get("from"), "now-1fQ/fQ");

  await page.goto(`${server.url}/d/unpicked`);
  await drawn(page);
  assert.equal(await page.getByRole("button", { name: "Time range" }).count(), 0);
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Dashboards" }).click();
  await page.getByRole("button", { name: "Time range" }).waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

test("conditions are offered of the data source that they are about", async () => {
  const where = { name: "where", type: "adhoc", datasource: TRACES };
  await save(server, board("conditions", [tempo(1, "Found", "table", QUERY)], [where]));
  const { page, context, complaints } = await watched(browser);
  await page.goto(`${server.url}/d/conditions`);
  await drawn(page);
  const asked = page.waitForRequest((one) => one.url().endsWith("/api/dashboards/adhoc"));
  await page.getByRole("button", { name: "Add a condition" }).click();
  assert.equal((await asked).postDataJSON().type, "tempo");
  await page.getByLabel("Label", { exact: true }).fill("span.attempt");
  await page.getByLabel("Comparison").selectOption("<");
  await page.getByLabel("Value", { exact: true }).fill("3");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  const row = panelOf(page, "Found").getByRole("button", { name: `Rows of Trace ID ${TRACE}` });
  await row.waitFor({ state: "detached" });
  assert.equal(new URL(page.url()).searchParams.get("var-where"), "span.attempt|<|3");
  await page.getByRole("button", { name: "Remove span.attempt" }).click();
  await row.waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});
