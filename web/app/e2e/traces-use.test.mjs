// The search for traces in use: a query that is built and one that is written, columns, facets, a box on the
// heat map that finds the culprits of a fault, and a search that is stopped.
import assert from "node:assert/strict";
import { createServer, request as forward } from "node:http";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { ask, stayed, until } from "./boards.mjs";
import { browse, demo, serve, settled, shots, watched } from "./harness.mjs";

const RANGE = "from=now-3h&to=now";
const CARD = "span.shop.card.network";
/** Charges of cards: one span of each. */
const CHARGES = '{ resource.service.name = "payment" && kind = server }';

let server;
let browser;

before(async () => {
  server = await serve();
  browser = await browse();
  // Long enough for a dozen of slow charges, so that what they have in common is no chance.
  await demo(server, { history: "2h", seconds: 2 });
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

const queryOf = (page) => new URL(page.url()).searchParams.get("q");

function waitQuery(page, wanted) {
  return page.waitForFunction((q) => new URLSearchParams(location.search).get("q") === q, wanted);
}

const rowsOf = (page) => page.getByRole("grid", { name: "Traces" }).locator(".table-row");

/** Waits until a search is over; how many traces it found, as the page says. */
async function found(page) {
  await settled(page);
  await page.locator(".traces-main > .answer:not(.dimmed)").waitFor();
  const text = await page.locator(".traces-main > .traces-status [role=status]").textContent();
  return Number(/^(\d+) traces/.exec(text)?.[1]);
}

/** How many traces match, asked without the page. */
async function matching(q) {
  const end = Math.ceil(Date.now() / 1000);
  const times = `start=${end - 10_800}&end=${end}`;
  const { traces = [] } = await ask(
    server,
    `/tempo/api/search?limit=1000&${times}&q=${encodeURIComponent(q)}`,
  );
  return traces.length;
}

/** Values that a field offers. */
function offered(page, name) {
  return page.getByRole("listbox", { name, exact: true }).getByRole("option");
}

test("a condition is built from what is offered, and is the same query as text", async () => {
  const { page, context, complaints } = await watched(browser);
  await page.goto(`${server.url}/traces?${RANGE}&limit=1000`);
  const all = await found(page);
  const attribute = page.getByRole("combobox", { name: "Another attribute" });
  await attribute.click();
  await attribute.pressSequentially("card.net");
  const fields = offered(page, "Another attribute");
  await fields.filter({ hasText: CARD }).click();
  const value = page.getByRole("combobox", { name: "Value", exact: true });
  await value.click();
  await offered(page, "Value").first().waitFor();
  assert.deepEqual((await offered(page, "Value").allTextContents()).sort(), [
    "amex",
    "discover",
    "mastercard",
    "visa",
  ]);
  await value.pressSequentially("ame");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  const query = `{ ${CARD} = "amex" }`;
  await waitQuery(page, query);
  const some = await found(page);
  assert.ok(some > 0 && some < all, `${some} of ${all}`);
  assert.equal(some, await matching(query));
  assert.equal(await page.locator(".query-text").textContent(), query);

  // A field that is always there; what it offers is of spans that the others leave.
  const service = page.getByRole("combobox", { name: "Service" });
  await service.click();
  await offered(page, "Service").first().waitFor();
  assert.deepEqual((await offered(page, "Service").allTextContents()).sort(), ["checkout", "payment"]);
  await offered(page, "Service").filter({ hasText: "payment" }).click();
  const both = `{ ${CARD} = "amex" && resource.service.name = "payment" }`;
  await waitQuery(page, both);
  const fewer = await found(page);
  assert.ok(fewer > 0 && fewer <= some, `${fewer} of ${some}`);

  // The same, as text; and what is changed there is what the builder shows.
  await page.getByRole("tab", { name: "TraceQL" }).click();
  const editor = page.locator("main .editor .cm-content");
  await editor.waitFor();
  assert.equal(await editor.textContent(), both);
  assert.equal(await found(page), fewer);
  await editor.fill(query);
  await page.keyboard.press("Control+Enter");
  await waitQuery(page, query);
  assert.equal(await found(page), some);
  await page.getByRole("tab", { name: "Builder" }).click();
  assert.equal(await page.getByRole("combobox", { name: `Value of ${CARD}` }).inputValue(), "amex");
  assert.equal(await service.inputValue(), "");
  await page.getByRole("button", { name: `Remove ${CARD}` }).click();
  await waitQuery(page, "{}");
  assert.deepEqual(complaints, []);
  await context.close();
});

test("an attribute becomes a column of the results, and stays one in the address", async () => {
  const { page, context, complaints } = await watched(browser);
  const query = `{ ${CARD} = "visa" }`;
  await page.goto(`${server.url}/traces?${RANGE}&q=${encodeURIComponent(query)}`);
  await found(page);
  await page.getByRole("button", { name: "Choose attributes as columns" }).click();
  const choice = page.getByRole("dialog", { name: "Choose attributes as columns" });
  await choice.getByRole("searchbox").fill("country");
  await choice.getByText("span.shop.country", { exact: true }).click();
  await choice.getByRole("searchbox").fill("card.net");
  await choice.getByText(CARD, { exact: true }).click();
  await page.waitForFunction(
    (cols) => new URLSearchParams(location.search).get("cols") === cols,
    `span.shop.country,${CARD}`,
  );
  await page.keyboard.press("Escape");
  const shown = async () => {
    await found(page);
    const heads = await page
      .getByRole("grid", { name: "Traces" })
      .getByRole("columnheader")
      .allTextContents();
    const [country, card] = ["shop.country", "shop.card.network"].map((title) => heads.indexOf(title));
    assert.ok(country > 0 && card === country + 1, heads.join());
    return rowsOf(page).evaluateAll(
      (rows, [one, other]) =>
        rows.map(({ children }) => [children[one].textContent, children[other].textContent]),
      [country, card],
    );
  };
  const cells = await shown();
  assert.ok(cells.length > 5);
  for (const [country, card] of cells) assert.match(`${country} ${card}`, /^(DE|US|FR|JP|BR) visa$/);
  await page.reload();
  assert.deepEqual((await shown())[0], cells[0]);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("two of the results are chosen and compared", async () => {
  const { page, context, complaints } = await watched(browser);
  await page.goto(`${server.url}/traces?${RANGE}&q=${encodeURIComponent(CHARGES)}`);
  await found(page);
  const ids = [];
  for (const at of [2, 1]) {
    const row = rowsOf(page).nth(at);
    const path = await row.getByRole("link").evaluate(({ pathname }) => pathname);
    ids.push(path.slice("/trace/".length));
    await row.getByRole("checkbox").click();
    await row.getByText(at === 2 ? "A" : "B", { exact: true }).waitFor();
    assert.ok(await row.getByRole("checkbox").isChecked());
  }
  await page.getByRole("button", { name: "Compare A and B" }).click();
  await page.waitForURL(/\/compare\?/);
  const { searchParams } = new URL(page.url());
  assert.deepEqual([searchParams.get("a"), searchParams.get("b")], ids);
  await page.getByText(/^B is .+ (slower|faster)/).waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

test("a facet tells how many spans have a value; a click keeps them, or leaves them out", async () => {
  const { page, context, complaints } = await watched(browser);
  await page.goto(`${server.url}/traces?${RANGE}&limit=1000&q=${encodeURIComponent(CHARGES)}`);
  const all = await found(page);
  const facets = page.getByRole("complementary", { name: "Facets" });
  const version = (value) => facets.getByRole("button", { name: value, exact: true });
  await facets.getByRole("searchbox").fill("service.version");
  const counts = await facets
    .locator(".facet", { hasText: "resource.service.version" })
    .locator(".facet-value")
    .evaluateAll((values) =>
      values.map((one) => [
        one.querySelector(".facet-name").textContent,
        Number(one.querySelector(".facet-count").textContent),
      ]),
    );
  assert.deepEqual(counts.map(([value]) => value).sort(), ["2.4.0", "2.4.1"]);
  const told = Object.fromEntries(counts);
  // One charge in a trace.
  assert.equal(told["2.4.0"] + told["2.4.1"], all);
  await version("2.4.1").click();
  const kept = CHARGES.replace(" }", ' && resource.service.version = "2.4.1" }');
  await waitQuery(page, kept);
  assert.equal(await found(page), told["2.4.1"]);
  await facets.getByRole("button", { name: "Without resource.service.version = 2.4.1" }).click();
  await waitQuery(page, kept.replace('version = "', 'version != "'));
  assert.equal(await found(page), told["2.4.0"]);
  assert.deepEqual(complaints, []);
  await context.close();
});

/** The highest rows of a heat map that are of more than a second: where they end, in pixels from its top. */
async function aboveOneSecond(page, canvas) {
  const { x, y, width, height } = await canvas.boundingBox();
  const tip = page.locator(".heatmap .chart-tooltip");
  for (let down = 6; down < height - 20; down += 3) {
    await page.mouse.move(x + width * 0.6, y + down);
    await tip.waitFor();
    const [, low, unit] = /, ([\d.]+) (\S+) to /.exec(await tip.textContent());
    if (unit !== "s" || Number(low) < 1) return down;
  }
  return assert.fail("no row of less than a second");
}

test("a box around slow charges finds the card, the version and the host that are at fault", async () => {
  const { page, context, complaints } = await watched(browser);
  await page.goto(`${server.url}/traces?from=now-125m&to=now&q=${encodeURIComponent(CHARGES)}`);
  await found(page);
  const canvas = page.getByRole("img", { name: /^Durations of spans over time\./ });
  const { x, y, width } = await canvas.boundingBox();
  const down = await aboveOneSecond(page, canvas);
  await page.mouse.move(x + width - 12, y + 5);
  await page.mouse.down();
  await page.mouse.move(x + width / 2, y + down / 2);
  await page.mouse.move(x + 70, y + down - 4);
  await page.mouse.up();
  await page.waitForFunction(() => new URLSearchParams(location.search).has("box"));
  const [from, to, low, high] = new URL(page.url()).searchParams.get("box").split(",").map(Number);
  assert.ok(to - from > 100 * 60_000, "nearly all of the time");
  assert.ok(low >= 0.5e9 && low < 1.5e9 && high >= 3e9, `from ${low} to ${high} ns`);

  const differences = page.locator(".difference");
  await differences.first().waitFor();
  const told = await differences.evaluateAll((all) =>
    all.map((one) => ({
      field: one.querySelector("h3").textContent,
      values: [...one.querySelectorAll(".difference-row")].map((row) => ({
        value: row.firstElementChild.textContent,
        certainty: row.title.split(" (")[0],
        selected: Number.parseFloat(row.querySelector("b").textContent),
        rest: Number.parseFloat(row.querySelector(".difference-parts .muted").textContent),
      })),
    })),
  );
  for (const [field, value] of [
    [CARD, "amex"],
    ["resource.service.version", "2.4.1"],
    ["resource.host.name", "shop-3"],
  ]) {
    const values = told.find((one) => one.field === field)?.values ?? [];
    const culprit = values.find((one) => one.value === value);
    assert.ok(culprit, `${field} = ${value} in ${JSON.stringify(told)}`);
    assert.match(culprit.certainty, /^(clear|likely)$/, field);
    // All that were slow, and about as many of the others as chance has it.
    assert.equal(culprit.selected, 100, field);
    assert.ok(culprit.rest < 50, `${field}: ${culprit.rest} % of the rest`);
  }
  // What says nothing of the fault is not among what is told.
  assert.ok(!told.some(({ field }) => field === "span.rpc.method"), "what all have in common");
  await page.screenshot({ path: join(shots, "traces-differences.png"), fullPage: true });
  await page
    .getByRole("button", { name: `Only ${CARD} = amex`, exact: true })
    .first()
    .click();
  await waitQuery(page, CHARGES.replace(" }", ` && ${CARD} = "amex" }`));
  assert.ok(new URL(page.url()).searchParams.has("box"), "and the box stays");

  await page.getByRole("button", { name: "Zoom to the box" }).click();
  await page.waitForFunction(() => !new URLSearchParams(location.search).has("box"));
  assert.match(queryOf(page), /&& duration >= [\d.]+(s|ms) && duration <= [\d.]+s }$/);
  const slow = await found(page);
  assert.ok(slow > 0 && slow < 60, `${slow} slow charges`);
  assert.deepEqual(complaints, []);
  await context.close();
});

/**
 * A server in front of ours that holds back the end of every search, as one does that has much to read: what
 * it found first is passed on. `ended` are searches that were given up.
 */
async function slowly() {
  const ended = [];
  const proxy = createServer((question, answer) => {
    const isSearch = question.url.startsWith("/api/traces/search");
    const { method, url } = question;
    // Lines are read here, so they must come as they are.
    const { "accept-encoding": _, ...headers } = question.headers;
    const asked = forward(
      { host: "127.0.0.1", port: server.ports.http, method, path: url, headers },
      (answered) => {
        answer.writeHead(answered.statusCode, answered.headers);
        if (!isSearch) return answered.pipe(answer);
        let text = "";
        answered.on("data", (chunk) => {
          text += chunk;
        });
        answered.on("end", () => {
          const lines = text.split("\n").filter((line) => line !== "" && !JSON.parse(line).done);
          answer.write(`${lines.join("\n")}\n`);
        });
        answer.on("close", () => ended.push(url));
      },
    );
    asked.on("error", () => answer.destroy());
    question.pipe(asked);
  });
  await new Promise((listens) => proxy.listen(0, "127.0.0.1", listens));
  return {
    ended,
    url: `http://127.0.0.1:${proxy.address().port}`,
    stop: () => {
      proxy.close();
      proxy.closeAllConnections();
    },
  };
}

test("a search that takes long shows what it found, and keeps it when it is stopped", async () => {
  const proxy = await slowly();
  const { page, context, complaints } = await watched(browser);
  try {
    await page.goto(`${proxy.url}/traces?${RANGE}&q=${encodeURIComponent(CHARGES)}`);
    await rowsOf(page).first().waitFor();
    const stop = page.getByRole("button", { name: "Stop, keep what is found" });
    await stop.waitFor();
    const ids = () =>
      rowsOf(page)
        .locator("a")
        .evaluateAll((links) => links.map(({ pathname }) => pathname));
    const before = await stayed(ids, "rows of what is found");
    assert.ok(before.length > 5);
    assert.equal(proxy.ended.length, 0);
    await stop.click();
    await page.getByText("stopped: not all", { exact: true }).waitFor();
    await stop.waitFor({ state: "detached" });
    assert.deepEqual(await ids(), before);
    assert.equal(await page.locator(".answer.dimmed").count(), 0);
    await until(() => proxy.ended.length > 0, "the question is given up");
    assert.equal(proxy.ended.length, 1, "the question was given up");
    assert.deepEqual(complaints, []);
  } finally {
    await context.close();
    proxy.stop();
  }
});
