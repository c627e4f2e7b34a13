// What is done by hand in a page is in its address: a reload shows the same, and so do short links and pins.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { board, chart, drawn, panelOf, save, until } from "./boards.mjs";
import { browse, demo, sendSpans, serve, settled, watched } from "./harness.mjs";

let server;
let browser;

const TRACE = "d".repeat(32);
const id = (number) => `${number}`.repeat(16);
const CHOICE = { name: "what", type: "custom", query: "load1, load5", current: { value: "load1" } };

before(async () => {
  server = await serve();
  browser = await browse();
  await demo(server, { history: "30m", seconds: 1 });
  const span = (number, name, parentSpanId) => ({ traceId: TRACE, spanId: id(number), name, parentSpanId });
  await sendSpans(server, { "service.name": "linked" }, [
    span(1, "whole"),
    span(2, "first part", id(1)),
    span(3, "second part", id(1)),
  ]);
  await save(
    server,
    board("linked", [chart(1, "Chosen $what", "node_$what"), chart(2, "Other", "node_load15")], [CHOICE]),
  );
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

async function opened(path) {
  const { page, context, complaints } = await watched(browser);
  await page.goto(server.url + path);
  await settled(page);
  return { page, context, complaints };
}

const parameters = (page) => Object.fromEntries(new URL(page.url()).searchParams);

/** Waits until the address has these parameters. */
const hasParameters = (page, wanted) =>
  page.waitForFunction(
    (all) =>
      Object.entries(all).every(([name, value]) => new URLSearchParams(location.search).get(name) === value),
    wanted,
  );

/** What a page shows is the same when its address is loaded again, and the address stays as it is. */
async function sameAfterReload(page, shows) {
  await shows(page);
  const address = page.url();
  await page.reload();
  await settled(page);
  await shows(page);
  assert.equal(page.url(), address);
}

describe("a reload shows the same", () => {
  test("of a trace: the span, the window and what is looked for", async () => {
    const { page, context, complaints } = await opened(`/trace/${TRACE}`);
    await page.getByRole("searchbox", { name: "Find in this trace" }).fill("part");
    await hasParameters(page, { find: "part" });
    await page.locator(".span-row:visible").filter({ hasText: "second part" }).click();
    await hasParameters(page, { span: id(3) });
    await page.locator("main h1").click();
    await page.keyboard.press("ArrowUp");
    await page.waitForFunction(() => new URLSearchParams(location.search).has("zoom"));
    const zoom = parameters(page).zoom;
    await sameAfterReload(page, async () => {
      await page.locator("aside.span-panel").getByRole("heading", { name: "second part" }).waitFor();
      await page.locator('[role=treegrid] [aria-selected=true]:has-text("second part")').waitFor();
      await page.getByText("2 of 2").waitFor();
      assert.equal(await page.getByLabel("Find in this trace").inputValue(), "part");
      // Closer again: it goes on from where the address says that it is.
      assert.equal(parameters(page).zoom, zoom);
    });
    await page.keyboard.press("ArrowDown");
    await page.waitForFunction(() => !new URLSearchParams(location.search).has("zoom"));
    assert.deepEqual(complaints, []);
    await context.close();
  });

  test("of a trace: the view", async () => {
    const { page, context } = await opened(`/trace/${TRACE}`);
    await page.getByRole("tab", { name: "Statistics" }).click();
    await hasParameters(page, { view: "stats" });
    await sameAfterReload(page, () =>
      page.locator('[aria-label="Groups of spans"] [role=row]:has-text("first part")').waitFor(),
    );
    await context.close();
  });

  test("of a search for traces: the query, the columns and the order", async () => {
    const { page, context, complaints } = await opened("/traces");
    await page.getByRole("tab", { name: "TraceQL" }).click();
    const editor = page.locator(".cm-content");
    await editor.click();
    await page.keyboard.press("Control+a");
    await page.keyboard.insertText('{ resource.service.name = "payment" }');
    await page.keyboard.press("Control+Enter");
    await hasParameters(page, { q: '{ resource.service.name = "payment" }' });
    await page.getByRole("button", { name: "Choose attributes as columns" }).click();
    const picker = page.getByRole("dialog", { name: "Choose attributes as columns" });
    await picker.getByLabel("Find an attribute").fill("resource.service.version");
    await picker.getByLabel("resource.service.version", { exact: true }).check();
    await hasParameters(page, { cols: "resource.service.version" });
    await page.keyboard.press("Escape");
    await page.getByRole("columnheader", { name: "Duration" }).getByRole("button").click();
    await hasParameters(page, { sort: "-duration" });
    await sameAfterReload(page, async () => {
      await page.locator('[role=columnheader][aria-sort=descending]:has-text("Duration")').waitFor();
      await page.locator("[role=columnheader]").filter({ hasText: "service.version" }).waitFor();
      await page
        .locator("[role=grid] [role=row]")
        .filter({ hasText: /2\.4\.\d/ })
        .first()
        .waitFor();
      assert.match(await editor.textContent(), /payment/);
    });
    assert.deepEqual(complaints, []);
    await context.close();
  });

  test("of metrics: the queries and how their answers are shown", async () => {
    const { page, context, complaints } = await opened("/explore/metrics?finder=0");
    await page.locator(".cm-content").first().click();
    await page.keyboard.insertText('node_load1{instance=~"hpc.*"}');
    await page.keyboard.press("Control+Enter");
    await page.getByRole("tab", { name: "Table" }).click();
    await hasParameters(page, { q: 'node_load1{instance=~"hpc.*"}', view: "table" });
    await sameAfterReload(page, async () => {
      await page.locator('main [role=row]:has-text("hpc-1")').first().waitFor();
      assert.equal(await page.locator('main [role=row]:has-text("gpu-1")').count(), 0);
    });
    assert.deepEqual(complaints, []);
    await context.close();
  });

  test("of a dashboard: the variable and the panel that is alone", async () => {
    const { page, context, complaints } = await opened("/d/linked");
    await drawn(page, { least: 2 });
    await page.getByRole("group", { name: "Variables" }).getByRole("button").click();
    await page.getByRole("option", { name: "load5" }).click();
    await hasParameters(page, { "var-what": "load5" });
    await panelOf(page, "Chosen load5")
      .getByRole("button", { name: /^Menu of/ })
      .click();
    await page.getByRole("button", { name: "Show alone" }).click();
    await page.waitForFunction(() => new URLSearchParams(location.search).has("viewPanel"));
    await sameAfterReload(page, async () => {
      await drawn(page);
      assert.deepEqual(await page.locator(".panel-title").allTextContents(), ["Chosen load5"]);
    });
    await page.keyboard.press("Escape");
    await panelOf(page, "Other").waitFor();
    assert.deepEqual(complaints, []);
    await context.close();
  });

  test("of a dashboard: that it fills the window, without rail and bars", async () => {
    const { page, context, complaints } = await opened("/d/linked");
    await drawn(page, { least: 2 });
    await page.keyboard.press("f");
    await page.waitForFunction(() => new URLSearchParams(location.search).has("kiosk"));
    await sameAfterReload(page, async () => {
      await page.locator("nav.rail").waitFor({ state: "hidden" });
      await page.waitForFunction(
        () => document.querySelector(".outlet").clientWidth > 0.95 * window.innerWidth,
      );
      await drawn(page, { least: 2 });
    });
    await page.keyboard.press("f");
    await page.locator("nav.rail").waitFor();
    assert.deepEqual(complaints, []);
    await context.close();
  });
});

/** Presses what is called so below Share. */
async function share(page, name) {
  await page.getByRole("button", { name: "Share" }).click();
  await page.getByRole("dialog", { name: "Share" }).getByRole("button", { name }).click();
}

test("a short link leads to the page that it was made on, at the time that was shown", async () => {
  const { page, context, complaints } = await opened(
    `/traces?q=${encodeURIComponent('{ resource.service.name = "payment" }')}&from=now-1h&to=now&refresh=1m`,
  );
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const made = Date.now();
  await share(page, "Copy short link, time frozen");
  let address = "";
  await until(async () => {
    address = await page.evaluate(() => navigator.clipboard.readText());
    return /\/s\/\w+$/.test(address);
  }, "the short link is copied");
  const other = await context.newPage();
  await other.goto(address);
  await other.waitForURL(/\/traces\?/);
  const { q, from, to, refresh } = parameters(other);
  assert.equal(q, '{ resource.service.name = "payment" }');
  assert.equal(refresh, undefined, "what is frozen is not live");
  assert.equal(Number(to) - Number(from), 3_600_000);
  assert.ok(Math.abs(Number(to) - made) < 60_000, `${to}, ${made}`);
  await other.locator("[role=grid] [role=row] a").first().waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

test("a short link that nobody made is said to be unknown", async () => {
  const { page, context } = await opened("/s/0123456789");
  assert.match(await page.locator("main .notice-error").textContent(), /link|0123456789/);
  await context.close();
});

test("a page that is pinned is on Home, leads back, and is gone when it is unpinned", async () => {
  const { page, context, complaints } = await opened(`/trace/${TRACE}?view=stats`);
  const title = (await page.locator("main h1").textContent()).trim();
  await share(page, "Pin to Home");
  await page.goto(server.url);
  const pin = page.locator(".home-list li").filter({ has: page.getByRole("button", { name: /^Unpin/ }) });
  await pin.getByRole("link").waitFor();
  assert.equal((await pin.getByRole("link").textContent()).trim(), title);
  await page.reload();
  await pin.getByRole("link").click();
  await page.waitForURL(`${server.url}/trace/${TRACE}?view=stats`);
  await share(page, "Unpin from Home");
  await page.goto(server.url);
  await page.waitForSelector(".home-list");
  await pin.waitFor({ state: "detached" });
  assert.deepEqual(complaints, []);
  await context.close();
});
