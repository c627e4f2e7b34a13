// Searches for traces asked in more ways: a value that the editor offers, columns of what is no attribute, a
// comparison that is typed, a box that is made by keys, and a flame against another time.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { browse, demo, nanosAgo, sendSpans, serve, settled, watched } from "./harness.mjs";

const RANGE = "from=now-125m&to=now";
const CHARGES = '{ resource.service.name = "payment" && kind = server }';
const FEW = '{ resource.service.name = "few" }';

let server;
let browser;

before(async () => {
  server = await serve();
  browser = await browse();
  await demo(server, { history: "2h", seconds: 2 });
  const start = nanosAgo(2000);
  const span = (at) => ({
    startTimeUnixNano: start,
    endTimeUnixNano: `${BigInt(start) + 1_000_000_000n}`,
    traceId: `${at}`.padStart(32, "0"),
    spanId: `${at}`.padStart(16, "0"),
    name: "rare",
    attributes: { "a,b": "comma", x: "of span" },
  });
  await sendSpans(server, { "service.name": "few", x: "of resource" }, [1, 2, 3].map(span));
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

const address = (path, params) => `${server.url}${path}?${RANGE}&${new URLSearchParams(params)}`;

function waitParam(page, name, wanted) {
  return page.waitForFunction(
    ([name, wanted]) => {
      const value = new URLSearchParams(location.search).get(name);
      return wanted === undefined ? value !== null : value === wanted;
    },
    [name, wanted],
  );
}

/** The rows of the results by the heads of their columns. */
async function rows(page) {
  const grid = page.getByRole("grid", { name: "Traces" });
  await grid.locator(".table-row").first().waitFor();
  await settled(page);
  return grid.evaluate((table) => {
    const heads = [...table.querySelectorAll("[role=columnheader]")].map((head) => head.textContent);
    return [...table.querySelectorAll(".table-row")].map((row) =>
      Object.fromEntries([...row.children].map((cell, at) => [heads[at], cell.textContent])),
    );
  });
}

test("a value that the editor offers between quotes takes their place", async () => {
  const { page, context, complaints } = await watched(browser);
  await page.goto(address("/traces", { mode: "code", q: FEW }));
  const editor = page.locator("main .editor .cm-content");
  await editor.click();
  await page.keyboard.press("Control+a");
  await page.keyboard.press("Delete");
  // Brackets and quotes are closed as they are typed.
  await page.keyboard.type('{ resource.service.name = "');
  await page.keyboard.press("Control+Space");
  const option = page.locator(".cm-tooltip-autocomplete li", { hasText: '"payment"' });
  await option.waitFor();
  await page.keyboard.type("pay");
  await option.click();
  await editor.filter({ hasText: '"payment"' }).waitFor();
  assert.equal(await editor.textContent(), '{ resource.service.name = "payment"}');
  await page.keyboard.press("Control+Enter");
  await waitParam(page, "q", '{ resource.service.name = "payment"}');
  assert.ok((await rows(page)).length > 5);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("columns show what is no attribute, keep scopes apart, and may have commas", async () => {
  const { page, context, complaints } = await watched(browser);
  const cols =
    'span:kind,span:duration,trace:id,rootServiceName,traceDuration,span.x,resource.x,span."a,b",span.name';
  await page.goto(address("/traces", { q: FEW, cols }));
  const found = await rows(page);
  assert.equal(found.length, 3);
  for (const row of found) {
    assert.match(row["trace:id"], /^0{31}[123]$/);
    assert.deepEqual(
      ["span:kind", "span:duration", "rootServiceName", "traceDuration"].map((name) => row[name]),
      ["server", "1 s", "few", "1 s"],
    );
    assert.deepEqual([row["span.x"], row["resource.x"]], ["of span", "of resource"]);
    assert.equal(row['"a,b"'], "comma");
    assert.equal(row.name, "", "an attribute of that name, which no span has");
  }
  assert.deepEqual(complaints, []);
  await context.close();
});

test("a comparison that is typed is made, until it is closed", async () => {
  const { page, context, complaints } = await watched(browser);
  await page.goto(address("/traces", { q: `${CHARGES} | compare({ status = error })` }));
  await page.locator(".difference").first().waitFor();
  await page.getByRole("heading", { name: "Selection { status = error } against the rest" }).waitFor();
  await page.getByRole("checkbox", { name: "Also what may be chance" }).check();
  await waitParam(page, "chance", "1");
  await page.getByRole("button", { name: "Close the comparison" }).click();
  await waitParam(page, "q", CHARGES);
  await page.locator(".difference").first().waitFor({ state: "detached" });
  assert.deepEqual(complaints, []);
  await context.close();
});

test("a box is made by keys, on the heat map", async () => {
  const { page, context, complaints } = await watched(browser);
  await page.goto(address("/traces", { q: CHARGES }));
  const map = (name) => page.getByRole("application", { name });
  await map(/^Durations of spans over time\. Arrows go to a cell/).focus();
  await page.keyboard.press("ArrowUp");
  await map(/^Durations of spans over time\. .* to .*: \S+ spans\.$/).waitFor();
  await page.keyboard.press("Shift+Home");
  await page.keyboard.press("Enter");
  await waitParam(page, "box");
  await page.getByRole("button", { name: "Zoom to the box" }).waitFor();
  await page.keyboard.press("Escape");
  await map(/^Durations of spans over time\. Arrows go to a cell/).waitFor();
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !new URLSearchParams(location.search).has("box"));
  assert.deepEqual(complaints, []);
  await context.close();
});

test("a box is made by keys around few traces", async () => {
  const { page, context, complaints } = await watched(browser);
  await page.goto(address("/traces", { q: FEW }));
  await page.getByRole("button", { name: /^Box of traces/ }).focus();
  await page.keyboard.press("ArrowRight");
  await page.getByRole("button", { name: /^Box\. .*: 3 traces\.$/ }).waitFor();
  await page.keyboard.press("Enter");
  await waitParam(page, "box");
  assert.match(new URL(page.url()).searchParams.get("box"), /^\d+,\d+,\d+,\d+,traces$/);
  await page.getByText(/^3 selected spans, 0 others/).waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

test("traces that are chosen to be compared are in the address", async () => {
  const { page, context, complaints } = await watched(browser);
  await page.goto(address("/traces", { q: FEW }));
  const boxes = page.getByRole("grid", { name: "Traces" }).getByRole("checkbox");
  await boxes.first().click();
  await waitParam(page, "a");
  await boxes.nth(1).click();
  await waitParam(page, "b");
  await page.reload();
  await page.getByRole("button", { name: "Compare A and B" }).click();
  await page.waitForURL(/\/compare\?/);
  await page.getByRole("checkbox", { name: "Only what differs" }).check();
  await waitParam(page, "changed", "1");
  assert.deepEqual(complaints, []);
  await context.close();
});

test("a flame is compared with a day before; what is looked at closely is in the address", async () => {
  const { page, context, complaints } = await watched(browser);
  await page.goto(address("/traces/flame", { q: CHARGES }));
  await page.getByLabel("Compare with", { exact: true }).selectOption("1d");
  await waitParam(page, "earlier", "1d");
  await page.getByText(/ · B: 0 of 0 traces$/).waitFor();
  const flame = page.getByRole("group", { name: /^Flame of the traces/ });
  await flame.focus();
  await page.keyboard.press("+");
  await waitParam(page, "close");
  await page.reload();
  await page.getByRole("button", { name: "Show all" }).click();
  await page.waitForFunction(() => !new URLSearchParams(location.search).has("close"));
  assert.deepEqual(complaints, []);
  await context.close();
});
