// The frame: keyboard, palette, addresses, theme, first run, a server that goes and comes back.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { browse, demo, serve, settled, watched } from "./harness.mjs";

let server;
let browser;

before(async () => {
  server = await serve();
  browser = await browse();
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

test("the first run tells where to send, and flips by itself at the first record", async () => {
  const { page, context, complaints } = await watched(browser);
  await page.goto(server.url);
  await settled(page);
  const text = await page.textContent("main");
  assert.ok(
    text.includes(`127.0.0.1:${server.ports.grpc}`),
    "the address of OTLP over gRPC that really listens",
  );
  assert.ok(
    text.includes(`127.0.0.1:${server.ports.otlp}`),
    "the address of OTLP over HTTP that really listens",
  );
  await demo(server, { history: "10m", seconds: 1 });
  await page.waitForFunction(
    () => !/OTEL_EXPORTER_OTLP_ENDPOINT/.test(document.querySelector("main").textContent),
    { timeout: 15_000 },
  );
  assert.deepEqual(complaints, []);
  await context.close();
});

test("every page can be reached by keys, and the list of keys names them", async () => {
  const { page, context, complaints } = await watched(browser);
  await page.goto(server.url);
  await settled(page);
  for (const [key, path] of [
    ["t", "/traces"],
    ["m", "/explore/metrics"],
    ["o", "/explore/logs"],
    ["c", "/ci"],
    ["d", "/dashboards"],
    ["l", "/live"],
    ["g", "/hosts"],
    ["r", "/runs"],
    ["a", "/admin"],
    ["h", "/"],
  ]) {
    await page.keyboard.press("g");
    await page.keyboard.press(key);
    await page.waitForFunction(
      (wanted) => location.pathname === wanted || location.pathname.startsWith(`${wanted}/`),
      path,
    );
    await page.locator("main").focus();
  }
  await page.keyboard.press("?");
  await page.waitForSelector("[role=dialog][aria-label=Keyboard]");
  await page.keyboard.press("Escape");
  await page.waitForSelector("[role=dialog]", { state: "detached" });
  assert.deepEqual(complaints, []);
  await context.close();
});

test("the palette opens a trace by its id, and Escape closes it", async () => {
  const { page, context } = await watched(browser);
  await page.goto(server.url);
  await settled(page);
  await page.keyboard.press("Control+k");
  await page.waitForSelector(".palette-input");
  await page.keyboard.press("Escape");
  await page.waitForSelector(".palette-input", { state: "detached" });
  await page.keyboard.press("/");
  await page.waitForSelector(".palette-input:focus");
  await page.keyboard.type("0123456789abcdef0123456789abcdef");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/trace\/0123456789abcdef0123456789abcdef/);
  await context.close();
});

test("an address brings back the same view, and going back leads where one was", async () => {
  const { page, context } = await watched(browser);
  const query = "{ status = error }";
  await page.goto(`${server.url}/traces?q=${encodeURIComponent(query)}&from=now-2h&to=now`);
  await settled(page);
  assert.match(await page.textContent(".top"), /Last 2h|2 hours/);
  await page.keyboard.press("t");
  await page.keyboard.press("z");
  await page.waitForFunction(() => new URLSearchParams(location.search).get("from") !== "now-2h");
  await page.goBack();
  await page.waitForFunction(() => new URLSearchParams(location.search).get("from") === "now-2h");
  assert.equal(new URL(page.url()).searchParams.get("q"), query);
  await context.close();
});

test("the theme is the system's until somebody chooses, and the choice stays", async () => {
  const { page, context } = await watched(browser, { colorScheme: "light" });
  await page.goto(server.url);
  await settled(page);
  const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
  assert.equal(await theme(), "light");
  await page.keyboard.press("d");
  assert.equal(await theme(), "dark");
  await page.reload();
  assert.equal(await theme(), "dark");
  await context.close();
});

test("what is shown stays while the server is away, and is refreshed when it is back", async () => {
  const { page, context } = await watched(browser);
  const own = await serve();
  await demo(own, { history: "10m", seconds: 1 });
  await page.goto(`${own.url}/traces?refresh=1s&from=now-2h&to=now`);
  await page.waitForSelector("[role=grid] [role=row]");
  await own.stop({ keep: true });
  await page.waitForSelector(".banner", { timeout: 15_000 });
  assert.ok((await page.locator("[role=grid] [role=row]").count()) > 1, "rows are still there");
  const again = await serve({ data: own.data, ports: own.ports });
  await page.waitForSelector(".banner", { state: "detached", timeout: 40_000 });
  await again.stop();
  await context.close();
});

test("the document is parsed within a second, and the first page has less than 150 kB of script", async (t) => {
  const { page, context } = await watched(browser);
  await page.goto(server.url);
  // The chunk of the page itself comes after the frame, and counts.
  await settled(page);
  const measured = await page.evaluate(() => {
    const scripts = performance.getEntriesByType("resource").filter(({ name }) => name.endsWith(".js"));
    const bytes = scripts.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0);
    return { bytes, millis: performance.getEntriesByType("navigation")[0].domInteractive };
  });
  t.diagnostic(
    `${measured.bytes} bytes of script as sent, document parsed after ${measured.millis.toFixed(0)} ms`,
  );
  assert.ok(measured.bytes > 0 && measured.bytes < 150_000, `${measured.bytes} bytes`);
  assert.ok(measured.millis < 1000, `${measured.millis} ms`);
  await context.close();
});
