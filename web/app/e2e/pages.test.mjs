// Every page on living data, in both themes: it opens, says nothing bad, has no serious findings of axe, and
// has its picture taken.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { browse, demo, serve, settled, shots, watched } from "./harness.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let server;
let browser;
const found = {};

async function ask(path, init) {
  const response = await fetch(server.url + path, init);
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response.json();
}

async function firstTrace(q) {
  const { traces } = await ask(`/tempo/api/search?limit=1&q=${encodeURIComponent(q)}`);
  assert.ok(traces?.length > 0, `a trace that matches ${q}`);
  return traces[0].traceID.padStart(32, "0");
}

before(async () => {
  server = await serve();
  browser = await browse();
  await demo(server, { history: "2h", seconds: 3 });
  found.trace = await firstTrace('{ resource.service.name = "frontend" }');
  found.failed = await firstTrace("{ status = error && kind = server }");
  found.run = await firstTrace('{ span.ci.kind = "run" }');
  found.runs = (
    await ask(`/tempo/api/search?limit=2&q=${encodeURIComponent('{ span.ci.kind = "run" }')}`)
  ).traces.map((trace) => trace.traceID.padStart(32, "0"));
  const { sessions } = await ask("/api/sessions?since=3h");
  found.session = sessions[0].id;
  found.other = sessions.at(-1).id;
  found.host = (await ask("/api/fleet")).hosts.find((host) => host.gpus.length > 0).name;
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

/** Pages: a name, a path, and what has to be seen. */
const PAGES = [
  ["home", () => "/", "main"],
  ["live", () => "/live", "main"],
  ["session", () => `/session/${encodeURIComponent(found.session)}`, "main"],
  [
    "sessions-compare",
    () => `/sessions/compare?a=${encodeURIComponent(found.session)}&b=${encodeURIComponent(found.other)}`,
    "main",
  ],
  ["traces", () => "/traces", "[role=grid]"],
  ["traces-query", () => `/traces?q=${encodeURIComponent("{ status = error }")}`, "[role=grid]"],
  [
    "traces-flame",
    () => `/traces/flame?q=${encodeURIComponent('{ resource.service.name = "frontend" }')}`,
    "canvas",
  ],
  ["trace", () => `/trace/${found.trace}`, "[role=treegrid]"],
  ["trace-failed", () => `/trace/${found.failed}`, "[role=treegrid]"],
  ["trace-flame", () => `/trace/${found.trace}?view=flame`, "canvas"],
  ["trace-table", () => `/trace/${found.trace}?view=table`, "[role=grid]"],
  ["trace-stats", () => `/trace/${found.trace}?view=stats`, "[role=grid]"],
  ["trace-logs", () => `/trace/${found.trace}?view=logs`, "main"],
  ["compare", () => `/compare?a=${found.trace}&b=${found.failed}`, "main"],
  ["ci", () => "/ci", "main"],
  ["ci-run", () => `/ci/run/${found.run}`, "main"],
  ["ci-compare", () => `/ci/compare?a=${found.runs[0]}&b=${found.runs[1]}`, "main"],
  ["runs", () => "/runs", "main"],
  ["metrics", () => "/explore/metrics", "main"],
  [
    "metrics-query",
    () => `/explore/metrics?q=${encodeURIComponent("rate(node_cpu_seconds_total[5m])")}`,
    "canvas",
  ],
  ["logs", () => "/explore/logs", "main"],
  [
    "sql",
    () =>
      `/explore/sql?q=${encodeURIComponent("SELECT name, count(*) FROM spans GROUP BY 1 ORDER BY 2 DESC")}`,
    "main",
  ],
  ["hosts", () => "/hosts", "[role=grid]"],
  ["gpu", () => "/gpu", "[role=grid]"],
  ["host", () => `/host/${encodeURIComponent(found.host)}`, "canvas"],
  ["alerts", () => "/alerts", "main"],
  ["targets", () => "/targets", "main"],
  ["dashboards", () => "/dashboards", "main"],
  ["dashboards-import", () => "/dashboards/import", "main"],
  ...[
    "overview",
    "storage",
    "ingest",
    "cardinality",
    "queries",
    "tokens",
    "audience",
    "destinations",
    "config",
    "about",
  ].map((part) => [`admin-${part}`, () => `/admin/${part}`, "main"]),
];

async function findings(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() =>
    window.axe.run(document, { resultTypes: ["violations"], rules: { "color-contrast": { enabled: true } } }),
  );
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(
      ({ id, nodes }) =>
        `${id}: ${nodes
          .slice(0, 3)
          .map((node) => node.html.slice(0, 160))
          .join(" | ")}`,
    );
}

for (const colorScheme of ["dark", "light"]) {
  describe(`every page in ${colorScheme}`, () => {
    for (const [name, path, wanted] of PAGES) {
      test(`${name} opens without complaint`, async () => {
        const { page, context, complaints } = await watched(browser, { colorScheme });
        await page.goto(server.url + path());
        await page.waitForSelector(wanted, { timeout: 20_000 });
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
}
