// Every dashboard that comes with the program, on living data and in both themes: it opens without
// complaint, no panel fails, and every panel shows data.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { ask, drawn, hasValues, heard, standing, until } from "./boards.mjs";
import { browse, demo, serve, shots, watched } from "./harness.mjs";

/** A multiple of the steps that panels of an hour have. */
const STEP_SECONDS = 30;

let server;
let browser;

before(async () => {
  server = await serve();
  browser = await browse();
  await demo(server, { history: "2h", seconds: 3 });
  // What the server says about itself and its process, and what it counts of spans: a rate is of two readings,
  // which each are taken now and then, and panels ask at times that are multiples of their step.
  const counters = (await Promise.all(["kymo-server", "kymo-services"].map(rated))).flat();
  assert.ok(counters.length > 5, `panels rate ${counters}`);
  for (const counter of new Set(counters)) {
    const query = encodeURIComponent(`count(rate(${counter}[1m]))`);
    await until(async () => {
      const end = Math.floor(Date.now() / 1000 / STEP_SECONDS) * STEP_SECONDS;
      const times = `start=${end - 10 * STEP_SECONDS}&end=${end}&step=${STEP_SECONDS}`;
      const { data } = await ask(server, `/prometheus/api/v1/query_range?query=${query}&${times}`);
      return data.result.length > 0;
    }, `two readings of ${counter}`);
  }
});

/** What panels of a dashboard rate, but where they show something without it too. */
async function rated(uid) {
  const { dashboard } = await ask(server, `/api/dashboards/${uid}`);
  return dashboard.panels
    .flatMap(({ targets = [] }) => targets)
    .filter(({ expr = "" }) => !expr.includes("vector(0)"))
    .flatMap(({ expr = "" }) => [...expr.matchAll(/\b(?:rate|increase)\((\w+)/g)].map(([, name]) => name));
}

after(async () => {
  await browser?.close();
  await server?.stop();
});

const SHIPPED = [
  "kymo-ci-cache",
  "kymo-ci-durations",
  "kymo-ci-resources",
  "kymo-gpus",
  "kymo-hosts",
  "kymo-server",
  "kymo-services",
  "kymo-sessions",
  "kymo-training",
];

test("the dashboards that are listed are those that are looked at here", async () => {
  const { dashboards } = await ask(server, "/api/dashboards");
  const shipped = dashboards.filter(({ kind }) => kind === "shipped").map(({ uid }) => uid);
  assert.deepEqual(shipped.sort(), SHIPPED);
});

for (const colorScheme of ["dark", "light"]) {
  describe(`dashboards that come with the program, in ${colorScheme}`, () => {
    // What is asked of an instant looks back for some minutes only.
    before(() => demo(server, { history: "1m", seconds: 1 }));

    for (const uid of SHIPPED) {
      test(`${uid} shows data in every panel`, async () => {
        // Higher than all of its panels, so that all are in sight.
        const { page, context, complaints } = await watched(browser, {
          colorScheme,
          viewport: { width: 1400, height: 4000 },
        });
        const { answers } = heard(page);
        await page.goto(`${server.url}/d/${uid}`);
        await drawn(page, { least: 5 });
        const all = await standing(page);
        assert.deepEqual(
          all.filter(({ error, isShown, hasData }) => error || !isShown || !hasData),
          [],
          "panels that show no data",
        );
        const lines = [...(await answers()).values()];
        assert.equal(lines.length, all.length, "all panels were asked for");
        assert.deepEqual(
          lines.filter((line) => line.error || !hasValues(line)),
          [],
          "answers without a value",
        );
        const high = await page.locator(".board").evaluate((board) => board.getBoundingClientRect().bottom);
        await page.setViewportSize({ width: 1400, height: Math.ceil(high) + 24 });
        await drawn(page, { least: 5 });
        await page.screenshot({ path: join(shots, `${uid}-${colorScheme}.png`) });
        assert.deepEqual(complaints, []);
        await context.close();
      });
    }
  });
}

test("on a server without data they open without complaint, and panels say that they have none", async () => {
  const empty = await serve();
  try {
    const { page, context, complaints } = await watched(browser, { viewport: { width: 1400, height: 4000 } });
    for (const uid of SHIPPED) {
      await page.goto(`${empty.url}/d/${uid}`);
      await drawn(page, { least: 5 });
      const all = await standing(page);
      assert.deepEqual(
        all.filter(({ error, isShown }) => error || !isShown),
        [],
        uid,
      );
      const silent = await page
        .locator(".panel-content")
        .evaluateAll((contents) =>
          contents
            .filter((content) => !content.querySelector("canvas, svg") && content.textContent.trim() === "")
            .map((content) => content.closest(".panel").getAttribute("aria-label")),
        );
      assert.deepEqual(silent, [], `${uid}: panels that say nothing`);
      const said = await page.locator(".panel-nodata").allTextContents();
      // These show the server, and its machine.
      if (!["kymo-server", "kymo-hosts"].includes(uid))
        assert.ok(said.length > 0, `${uid}: nothing is empty`);
    }
    assert.deepEqual(complaints, []);
    await context.close();
  } finally {
    await empty.stop();
  }
});
