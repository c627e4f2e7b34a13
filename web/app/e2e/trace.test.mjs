// The trace page: large traces within their time, and traces that are wrong or extreme.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { large, strange } from "./generate.mjs";
import { browse, serve, settled, shots, watched } from "./harness.mjs";

let server;
let browser;
let traces;
let hundred;

before(async () => {
  server = await serve();
  browser = await browse();
  traces = await strange(server);
  hundred = await large(server, 1000, 100_000);
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

/** Milliseconds from the answer to the first paint, as the page has marked them. */
function painted(page) {
  return page.evaluate(() => {
    const at = (name) => performance.getEntriesByName(name)[0].startTime;
    return at("kymo:trace-painted") - at("kymo:trace-answer");
  });
}

describe("a trace of 100,000 spans", () => {
  test("is painted within 500 ms of the answer, and every drawing of panning and zooming takes at most 33 ms", async (t) => {
    const { page, context, complaints } = await watched(browser);
    await page.goto(`${server.url}/trace/${hundred}`);
    await page.waitForFunction(() => performance.getEntriesByName("kymo:trace-painted").length > 0, {
      timeout: 30_000,
    });
    const paint = await painted(page);
    t.diagnostic(`first paint ${paint.toFixed(0)} ms after the answer`);
    assert.ok(paint < 500, `${paint} ms`);
    await settled(page);
    await page.evaluate(() => {
      window.kymoFrames.length = 0;
    });
    for (const key of [
      "ArrowUp",
      "ArrowUp",
      "ArrowUp",
      "d",
      "d",
      "d",
      "a",
      "a",
      "ArrowDown",
      "shift+D",
      "ArrowDown",
    ]) {
      await page.keyboard.press(key === "shift+D" ? "Shift+D" : key);
      await page.waitForTimeout(60);
    }
    await page.mouse.move(900, 500);
    for (let turn = 0; turn < 30; turn += 1) {
      await page.mouse.wheel(0, 400);
      await page.waitForTimeout(16);
    }
    const frames = await page.evaluate(() => [...window.kymoFrames]);
    const slowest = Math.max(...frames);
    t.diagnostic(`${frames.length} frames, the slowest ${slowest.toFixed(1)} ms`);
    assert.ok(frames.length >= 20, `${frames.length} frames`);
    assert.ok(slowest <= 33, `${slowest} ms`);
    await page.screenshot({ path: join(shots, "trace-100k.png") });
    assert.deepEqual(complaints, []);
    await context.close();
  });
});

describe("a trace that is wrong or extreme", () => {
  for (const name of ["cycle", "skew", "decade", "names", "script", "orphans", "children"]) {
    for (const view of ["timeline", "flame", "table", "stats"]) {
      test(`${name} is shown as ${view}`, async () => {
        const { page, context, complaints } = await watched(browser);
        await page.goto(`${server.url}/trace/${traces[name]}?view=${view}`);
        await settled(page);
        await page.waitForSelector("main h1");
        if (view === "timeline") {
          await page.locator(".span-row:visible").first().click();
          await settled(page);
        }
        await page.screenshot({ path: join(shots, `strange-${name}-${view}.png`) });
        assert.deepEqual(complaints, []);
        assert.equal(await page.evaluate(() => window.hacked), undefined, "no script of the data has run");
        assert.equal(await page.locator('a[href^="javascript:"]').count(), 0);
        await context.close();
      });
    }
  }

  test("an id that nobody sent is said to be unknown", async () => {
    const { page, context } = await watched(browser);
    await page.goto(`${server.url}/trace/00000000000000000000000000abcdef`);
    await page.waitForSelector("main");
    await settled(page);
    assert.match(await page.textContent("main"), /abcdef/);
    assert.equal(await page.locator(".span-row:visible").count(), 0);
    await context.close();
  });
});
