// Every page on living data, in both themes: it opens, says nothing bad, has no serious findings of axe, and
// has its picture taken.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { ask, board, chart, METRICS, save, until } from "./boards.mjs";
import { browse, findings, serve, settled, shots, watched } from "./harness.mjs";

let server;
/** One that nothing was sent to, and one that wants to know who asks. */
let empty;
let closed;
let settings;
let browser;
/** What the data has: traces, sessions, hosts. */
let known;

/** Ids of traces that match, and of a span in each that does. */
async function found(query, limit = 1) {
  const { traces = [] } = await ask(
    server,
    `/tempo/api/search?limit=${limit}&q=${encodeURIComponent(query)}`,
  );
  assert.equal(traces.length, limit, `traces that match ${query}`);
  return traces.map(({ traceID, spanSets }) => ({
    trace: traceID.padStart(32, "0"),
    span: spanSets[0].spans[0].spanID.padStart(16, "0"),
  }));
}

/** Lets data come for as long as the server lives, and waits until its past has been told. */
async function live() {
  await ask(server, "/api/demo", { history: "2h" });
  const isToday = async () => (await ask(server, "/api/demo")).told_until_millis > Date.now() - 5000;
  await until(isToday, "the past of the living data", 300_000);
}

before(async () => {
  server = await serve();
  empty = await serve();
  settings = mkdtempSync(join(tmpdir(), "kymo-pages-settings-"));
  const file = join(settings, "kymo.yaml");
  writeFileSync(file, "listeners:\n  http:\n    auth: [bearer]\n");
  closed = await serve({ args: ["--config", file] });
  browser = await browse();
  await live();
  const [shop] = await found('{ resource.service.name = "frontend" && kind = server }');
  const [failed] = await found("{ status = error && kind = server }");
  const [logged] = await found("{ event:name != nil }");
  const runs = await found('{ span.ci.kind = "run" }', 2);
  const { sessions } = await ask(server, "/api/sessions?since=3h");
  const named = (wanted) => sessions.filter(({ name }) => name === wanted).map(({ id }) => id);
  const [session, other] = named("protein-screen");
  known = {
    trace: shop.trace,
    span: shop.span,
    failed: failed.trace,
    logged: logged.trace,
    run: runs[0].trace,
    runs: runs.map(({ trace }) => trace),
    session,
    other,
    trainings: named("train-llama").slice(0, 2),
    host: (await ask(server, "/api/fleet")).hosts.find(({ gpus }) => gpus.length > 0).name,
  };
  const load = { format: "table", instant: true, datasource: METRICS, refId: "A", expr: "node_load1" };
  await save(
    server,
    board("pages", [chart(1, "Load", "node_load1"), chart(2, "Now", "", { type: "table", targets: [load] })]),
  );
});

after(async () => {
  await browser?.close();
  for (const one of [server, empty, closed]) await one?.stop();
  if (settings) rmSync(settings, { recursive: true, force: true });
});

/** A row of a table, or of the one that is named. */
const row = (text, label) =>
  `[role=grid]${label ? `[aria-label="${label}"]` : ""} [role=row]:has([role=gridcell]):has-text("${text}")`;
const q = (query) => `q=${encodeURIComponent(query)}`;
const said = (text) => `main :text("${text}")`;

/** Pages: a name, a path, and what living data gives: all of it has to be there. */
const PAGES = [
  ["home", () => "/", '.home-list a[href*="/session/"]', '.home-list a[href*="/ci/pipeline"]'],
  ["live", () => "/live", row("protein-screen"), row("train-llama")],
  ["session", () => `/session/${known.session}`, row("completed"), ".lanes-canvas", ".funnel"],
  [
    "sessions-compare",
    () => `/sessions/compare?a=${known.session}&b=${known.other}`,
    row("", "Figures of both"),
    row("dock", "Tasks by name"),
    "figure.beside polyline, figure.beside path",
  ],
  ["traces", () => "/traces", row("frontend"), "main canvas", ".facets .facet"],
  ["traces-query", () => `/traces?${q("{ status = error }")}`, row("frontend")],
  ["traces-flame", () => `/traces/flame?${q('{ resource.service.name = "frontend" }')}`, "main canvas"],
  ["trace", () => `/trace/${known.trace}`, "[role=treegrid] [role=row]", "main canvas"],
  ["trace-failed", () => `/trace/${known.failed}`, "[role=treegrid] [role=row]"],
  ["trace-span", () => `/trace/${known.trace}?span=${known.span}`, "aside.span-panel .value-row"],
  ["trace-flame", () => `/trace/${known.trace}?view=flame`, ".trace-view canvas"],
  ["trace-graph", () => `/trace/${known.trace}?view=graph`, '.graph-node:has-text("frontend")'],
  ["trace-table", () => `/trace/${known.trace}?view=table`, row("frontend")],
  ["trace-stats", () => `/trace/${known.trace}?view=stats`, row("frontend", "Groups of spans")],
  ["trace-logs", () => `/trace/${known.logged}?view=logs`, row("", "Log records and events")],
  [
    "trace-critical",
    () => `/trace/${known.trace}?view=critical`,
    row("frontend", "Spans of the critical path"),
  ],
  [
    "compare",
    () => `/compare?a=${known.trace}&b=${known.failed}`,
    ".compare-verdict",
    row("", "Paths of both traces"),
  ],
  ["ci", () => "/ci", row("orbital/lattice", "Workflows"), row("orbital/quill", "Workflows")],
  [
    "ci-pipeline",
    () => `/ci/pipeline?workflow=pr&repository=${encodeURIComponent("orbital/quill")}`,
    row("success", "Runs"),
    ".ci-trends canvas",
  ],
  ["ci-run", () => `/ci/run/${known.run}`, '.gantt-name:has-text("build")', "main .figures"],
  ["ci-compare", () => `/ci/compare?a=${known.runs[0]}&b=${known.runs[1]}`, row("", "Jobs of both runs")],
  ["runs", () => "/runs", row("train-llama", "Runs"), ".run-charts canvas"],
  ["runs-chosen", () => `/runs?ids=${known.trainings.join(",")}`, ".run-charts canvas"],
  ["metrics", () => "/explore/metrics", '.finder .metric-name:has-text("DCGM_FI")'],
  ["metrics-query", () => `/explore/metrics?${q("rate(node_cpu_seconds_total[5m])")}`, "main canvas"],
  ["logs", () => "/explore/logs", ".lines .line", "main canvas"],
  ["logs-patterns", () => "/explore/logs?view=patterns", row("<_>", "Patterns")],
  [
    "sql",
    () => `/explore/sql?${q("SELECT name, count(*) FROM spans GROUP BY 1 ORDER BY 2 DESC")}`,
    row("all_reduce", "Rows"),
    ".facets .facet",
  ],
  ["hosts", () => "/hosts", row("hpc-2", "Hosts")],
  ["gpu", () => "/gpu", row("gpu-2")],
  ["host", () => `/host/${encodeURIComponent(known.host)}`, ".host-charts canvas"],
  ["alerts", () => "/alerts", said("No rules are set up")],
  ["targets", () => "/targets", said("Nothing is scraped")],
  ["dashboards", () => "/dashboards", 'a.dash-title:text-is("Board pages")', ".dash-item:nth-child(3)"],
  ["dashboards-import", () => "/dashboards/import", ".drop"],
  ["dashboard", () => "/d/pages", ".panel-content canvas", '.panel [role=gridcell]:has-text("hpc-2")'],
  ["dashboard-new", () => "/d/new", said("This dashboard has no panels")],
  ["dashboard-edit", () => "/d/pages?editPanel=1", ".edit-preview canvas", ".edit-left .cm-content"],
  ["dashboard-kiosk", () => "/d/pages?kiosk", "html.kiosk .panel-content canvas"],
  ["admin-overview", () => "/admin/overview", said("Listens on")],
  ["admin-storage", () => "/admin/storage", said("Journal")],
  ["admin-ingest", () => "/admin/ingest", row("traces", "Senders"), row("metrics", "Senders")],
  ["admin-cardinality", () => "/admin/cardinality", row("node_", "Metrics by series")],
  ["admin-queries", () => "/admin/queries", said("Running now")],
  ["admin-tokens", () => "/admin/tokens", said("There are no tokens")],
  ["admin-audience", () => "/admin/audience", said("There is no flag: everybody is recorded")],
  ["admin-destinations", () => "/admin/destinations", said("Records are kept here and sent nowhere else")],
  ["admin-config", () => "/admin/config", '.admin-text:has-text("--data")'],
  ["admin-about", () => "/admin/about", '.admin-text:has-text("preact")', said("Apache-2.0")],
];

/** What opens over a page: a name, the page, what opens it, and what is open then. */
const DIALOGS = [
  ["help", () => "/traces", (page) => page.keyboard.press("?"), "[role=dialog][aria-label=Keyboard] kbd"],
  ["palette", () => "/", (page) => page.keyboard.press("Control+k"), ".palette-list [role=option]"],
  [
    "time",
    () => "/traces",
    (page) => page.getByRole("button", { name: /^Time range/ }).click(),
    "[role=dialog] .range-quick",
  ],
  [
    "share",
    () => "/traces",
    (page) => page.getByRole("button", { name: "Share" }).click(),
    "[role=dialog][aria-label=Share]",
  ],
  [
    "span",
    () => `/trace/${known.failed}`,
    (page) => page.locator(".span-row:visible").first().click(),
    "aside.span-panel .value-row",
  ],
];

/** Where there is nothing to show: a name, an address, what has to be there, and what is opened one by one. */
const BARE = [
  [
    "welcome",
    () => empty.url,
    said("Send OTLP here"),
    '[role=tablist][aria-label="Kind of client"] [role=tab]',
  ],
  ["login", () => `${closed.url}/traces`, "main.login input"],
  ["trace-unknown", () => `${server.url}/trace/${"f".repeat(32)}`, said("There is no trace")],
  ["traces-none", () => `${server.url}/traces?${q('{ name = "no such name" }')}`, ".nothing li"],
  [
    "logs-none",
    () => `${server.url}/explore/logs?${q('{service_name="frontend"} |= "no such word"')}`,
    said("No line matches"),
  ],
  ["metrics-none", () => `${server.url}/explore/metrics?${q("no_such_metric")}`, said("No series")],
  ["session-unknown", () => `${server.url}/session/nobody`, said("nothing is known of a session")],
];

/** What a console said besides what browsers print of answers that say that something is not there, or not seen. */
const unexpected = (complaints) => complaints.filter((text) => !/\b40[14]\b/.test(text));

for (const colorScheme of ["dark", "light"]) {
  describe(`where there is nothing to show, in ${colorScheme}`, () => {
    for (const [name, address, wanted, parts] of BARE) {
      test(`${name} opens without complaint`, async () => {
        const { page, context, complaints } = await watched(browser, { colorScheme });
        await page.goto(address());
        await page.locator(wanted).first().waitFor({ timeout: 60_000 });
        await settled(page);
        await page.screenshot({ path: join(shots, `${name}-${colorScheme}.png`), fullPage: true });
        assert.deepEqual(await findings(page), []);
        for (const part of parts ? await page.locator(parts).all() : []) {
          await part.click();
          assert.deepEqual(await findings(page), [], await part.textContent());
        }
        assert.deepEqual(unexpected(complaints), []);
        await context.close();
      });
    }
  });

  describe(`every page in ${colorScheme}`, () => {
    for (const [name, path, ...wanted] of PAGES) {
      test(`${name} opens without complaint`, async () => {
        const { page, context, complaints } = await watched(browser, { colorScheme });
        await page.goto(server.url + path());
        for (const one of wanted) await page.locator(one).first().waitFor({ timeout: 60_000 });
        await settled(page);
        await page.screenshot({ path: join(shots, `${name}-${colorScheme}.png`) });
        assert.deepEqual(complaints, []);
        assert.equal(
          await page.locator(".notice-error").count(),
          0,
          await page.locator(".notice-error").allTextContents(),
        );
        assert.deepEqual(await findings(page), []);
        await context.close();
      });
    }
  });

  describe(`what opens over a page in ${colorScheme}`, () => {
    for (const [name, path, open, wanted] of DIALOGS) {
      test(`${name} opens without complaint, and Escape closes it`, async () => {
        const { page, context, complaints } = await watched(browser, { colorScheme });
        await page.goto(server.url + path());
        await settled(page);
        await open(page);
        await page.locator(wanted).first().waitFor({ timeout: 60_000 });
        await settled(page);
        await page.screenshot({ path: join(shots, `open-${name}-${colorScheme}.png`) });
        assert.deepEqual(await findings(page), []);
        await page.keyboard.press("Escape");
        await page.locator(wanted).first().waitFor({ state: "detached" });
        assert.deepEqual(complaints, []);
        await context.close();
      });
    }
  });
}
