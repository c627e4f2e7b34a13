// Admin: what is ended, made and changed there is so on the server, and whose software the page has in it is
// named.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { ask, until } from "./boards.mjs";
import { browse, demo, sendSpans, serve, settled, watched } from "./harness.mjs";

let server;
let browser;

before(async () => {
  server = await serve();
  browser = await browse();
  await demo(server, { history: "10m", seconds: 1 });
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

/** More pairs of spans than any machine compares in the time that a query has. */
const ENDLESS = "select count(*) from spans a, spans b where regexp_like(a.name || b.name, '(a+)+b.*(c+)+d')";

test("a query that runs is listed, and ended by a button", async () => {
  const { page, context, complaints } = await watched(browser);
  await page.goto(`${server.url}/admin/queries`);
  await settled(page);
  const answered = fetch(`${server.url}/api/sql`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ query: ENDLESS }),
  }).then(async (response) => ({ status: response.status, text: await response.text() }));
  const row = page.locator('[aria-label="Queries that run"] [role=row]').filter({ hasText: ENDLESS });
  await row.getByRole("button", { name: "End" }).click({ timeout: 20_000 });
  const { text } = await answered;
  assert.match(text, /cancel/i);
  await row.waitFor({ state: "detached" });
  const slow = page.locator('[aria-label="Slow queries"] [role=row]').filter({ hasText: ENDLESS });
  await slow.filter({ hasText: /cancel/i }).waitFor({ timeout: 20_000 });
  assert.deepEqual((await ask(server, "/api/admin/queries")).running, []);
  assert.deepEqual(complaints, []);
  await context.close();
});

/** Sends a trace of one span with an attribute that names a user. */
function visit(number, user) {
  const span = { traceId: `${number}`.repeat(32), spanId: `${number}`.repeat(16), name: `visit ${number}` };
  return sendSpans(server, { "service.name": "visited" }, [{ ...span, attributes: { "user.id": user } }]);
}

async function isFound(number) {
  const response = await fetch(`${server.url}/tempo/api/traces/${`${number}`.repeat(32)}`);
  return response.status === 200;
}

test("a rule of who is recorded is made, holds for what is sent next, is changed, and is deleted", async () => {
  const { page, context, complaints } = await watched(browser);
  await page.goto(`${server.url}/admin/audience`);
  await page.getByRole("button", { name: "New flag" }).click();
  await page.getByLabel("Key, as programs ask for it").fill("flag_visits");
  await page.getByLabel(/^Selected users/).check();
  await page.getByLabel("Users, one in a line").fill("ada");
  await page.getByText("Which records, and what names a user").click();
  await page.getByLabel("Condition of TraceQL").fill('resource.service.name = "visited"');
  await page.getByLabel("metrics").uncheck();
  await page.getByLabel("logs").uncheck();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("flag_visits is made and in force.").waitFor();
  const flag = page.locator("table.admin-table tr").filter({ hasText: "1 user" });
  await flag.getByText("flag_visits").waitFor();
  await visit(1, "bob");
  await visit(2, "ada");
  await until(() => isFound(2), "the trace of who is selected");
  assert.equal(await isFound(1), false, "who is not selected is not recorded");

  await flag.getByRole("button", { name: "Edit flag_visits" }).click();
  await page.getByLabel("Users, one in a line").fill("ada\nbob");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("flag_visits is saved and in force.").waitFor();
  await page.locator("table.admin-table tr").filter({ hasText: "2 users" }).waitFor();
  await visit(3, "bob");
  await until(() => isFound(3), "the trace of who was added");

  await page.getByRole("button", { name: "Edit flag_visits" }).click();
  await page.getByRole("button", { name: "Delete …" }).click();
  await page.getByRole("button", { name: "Delete flag_visits" }).click();
  await page.getByText("There is no flag: everybody is recorded").waitFor();
  await visit(4, "eve");
  await until(() => isFound(4), "the trace of anybody");
  assert.deepEqual(complaints, []);
  await context.close();
});

test("the licence page names every package that the page is made of", async () => {
  const { page, context } = await watched(browser);
  await page.goto(`${server.url}/admin/about`);
  const text = await page.locator("pre.admin-text").textContent();
  const { dependencies } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  const names = Object.keys(dependencies);
  assert.ok(names.length > 10);
  assert.deepEqual(
    names.filter((name) => !text.includes(`\n## ${name} - `)),
    [],
  );
  await context.close();
});
