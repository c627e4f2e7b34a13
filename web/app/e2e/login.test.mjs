// A server that knows people by tokens only: the page asks for one, keeps it for the tab, and forgets it.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { browse, demo, run, send, serve, settled, watched } from "./harness.mjs";

const ROWS = "[role=grid] [role=row]";
const FORM = "main.login";

let server;
let browser;
let settings;
const tokens = {};

/** Makes a token of a server that does not run. */
async function made(data, name, role) {
  return /kymo_\S+/.exec(await run("token", "new", name, "--role", role, "--data", data))[0];
}

before(async () => {
  const data = mkdtempSync(join(tmpdir(), "kymo-login-"));
  settings = mkdtempSync(join(tmpdir(), "kymo-login-settings-"));
  const file = join(settings, "kymo.yaml");
  // Who sends needs no token, so that the data of the demo can be sent.
  writeFileSync(file, "listeners:\n  http:\n    auth: [bearer]\n");
  tokens.admin = await made(data, "page", "admin");
  tokens.reader = await made(data, "reader", "read");
  server = await serve({ data, args: ["--config", file] });
  browser = await browse();
  await demo(server, { history: "30m", seconds: 1 });
});

after(async () => {
  await browser?.close();
  await server?.stop();
  if (settings) rmSync(settings, { recursive: true, force: true });
});

/** What a console said besides that the server refused: browsers print that by themselves. */
const unexpected = (complaints) => complaints.filter((text) => !/\b401\b/.test(text));

async function logIn(page, token) {
  await page.fill(`${FORM} input`, token);
  await page.keyboard.press("Enter");
}

/** What the browser saved after something was done. */
async function downloaded(page, act) {
  const [file] = await Promise.all([page.waitForEvent("download"), act()]);
  return { name: file.suggestedFilename(), text: readFileSync(await file.path(), "utf8") };
}

test("who has no token sees a form and nothing else; a wrong one is told, the right one opens", async () => {
  const { page, context, complaints } = await watched(browser);
  const answers = [];
  page.on("response", (response) => answers.push([new URL(response.url()).pathname, response.status()]));
  await page.goto(`${server.url}/traces?from=now-2h&to=now`);
  await page.waitForSelector(`${FORM} input:focus`);
  assert.equal(await page.locator(ROWS).count(), 0, "there is no data behind the form");
  assert.match(await page.textContent(FORM), /stays in this tab/);

  await logIn(page, "kymo_aaaaaaaaaaaa_wrong");
  await page.waitForSelector(`${FORM} [role=alert]`);
  assert.match(await page.textContent(`${FORM} [role=alert]`), /not valid/);
  const tried = answers.filter(([path, status]) => path === "/api/start" && status === 401);
  assert.equal(tried.length, 1, "a wrong token is tried once: more would be counted as guesses");

  await logIn(page, tokens.admin);
  await page.waitForSelector(ROWS, { timeout: 20_000 });
  assert.equal(await page.locator(FORM).count(), 0);
  await settled(page);

  await page.reload();
  await page.waitForSelector(ROWS, { timeout: 20_000 });
  assert.equal(await page.locator(FORM).count(), 0, "loading again keeps the token");
  assert.ok(!page.url().includes("kymo_"), "the token is in no address");

  const other = await context.newPage();
  await other.goto(`${server.url}/traces`);
  await other.waitForSelector(FORM);
  await other.close();

  await page.click('button[aria-label^="Log out"]');
  await page.waitForSelector(FORM);
  assert.equal(await page.locator(ROWS).count(), 0, "what was shown is gone");
  assert.equal(await page.locator('button[aria-label^="Log out"]').count(), 0);
  await page.reload();
  await page.waitForSelector(FORM);
  assert.deepEqual(unexpected(complaints), []);
  await context.close();
});

test("what is live is live with a token: refreshes, events, lines of logs", async () => {
  const { page, context, complaints } = await watched(browser);
  await page.goto(`${server.url}/`);
  await page.waitForSelector(FORM);
  const live = page.waitForResponse(
    (response) => response.url().endsWith("/api/live") && response.status() === 200,
  );
  await logIn(page, tokens.reader);
  assert.match((await live).headers()["content-type"], /event-stream/);

  await page.goto(`${server.url}/traces?from=now-2h&to=now&refresh=1s`);
  await page.waitForSelector(ROWS, { timeout: 20_000 });
  for (let turn = 0; turn < 2; turn += 1) {
    const refreshed = await page.waitForResponse((response) => response.url().includes("/api/traces/search"));
    assert.equal(refreshed.status(), 200);
  }

  await page.goto(`${server.url}/explore/logs?live=1`);
  await page.waitForSelector(".badge-good");
  const said = `followed ${Date.now()}`;
  const nanos = `${Date.now()}000000`;
  const attributes = [{ key: "service.name", value: { stringValue: "followed" } }];
  const logRecords = [{ timeUnixNano: nanos, body: { stringValue: said } }];
  await send(server, "logs", { resourceLogs: [{ resource: { attributes }, scopeLogs: [{ logRecords }] }] });
  await page.getByText(said).first().waitFor({ timeout: 15_000 });
  assert.deepEqual(unexpected(complaints), []);
  await context.close();
});

test("files come with a token too", async () => {
  const { page, context, complaints } = await watched(browser);
  await page.goto(`${server.url}/explore/sql?q=${encodeURIComponent("select name from spans limit 3")}`);
  await page.waitForSelector(FORM);
  await logIn(page, tokens.reader);
  await page.waitForSelector(ROWS, { timeout: 20_000 });
  const rows = await downloaded(page, () => page.getByRole("button", { name: "CSV" }).click());
  assert.equal(rows.name, "rows.csv");
  assert.equal(rows.text.trim().split("\n").length, 4, rows.text);

  const found = await fetch(`${server.url}/tempo/api/search?limit=1&q=%7B%7D`, {
    headers: { Authorization: `Bearer ${tokens.reader}` },
  });
  const id = (await found.json()).traces[0].traceID.padStart(32, "0");
  await page.goto(`${server.url}/trace/${id}`);
  await page.getByRole("button", { name: /^Export/ }).click();
  const trace = await downloaded(page, () => page.getByRole("button", { name: "OTLP JSON" }).click());
  assert.equal(trace.name, `${id}.otlp.json`);
  assert.ok(JSON.parse(trace.text).resourceSpans.length > 0);
  assert.deepEqual(unexpected(complaints), []);
  await context.close();
});

test("what a token does not allow is said in its place, and another one can be used", async () => {
  const { page, context } = await watched(browser);
  await page.goto(`${server.url}/admin/tokens`);
  await page.waitForSelector(FORM);
  await logIn(page, tokens.reader);
  const another = page.getByRole("button", { name: "Log in with another token" });
  await another.first().click();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.waitForSelector(FORM, { state: "detached" });
  await another.first().click();
  await page.waitForSelector(`${FORM} input:focus`);
  await logIn(page, tokens.admin);
  await page.waitForSelector(`${ROWS}:has-text("reader")`);
  await context.close();
});

test("a token that is revoked is asked for again, and what was being written is still there", async () => {
  const { page, context } = await watched(browser);
  const admin = { Authorization: `Bearer ${tokens.admin}` };
  const asked = await fetch(`${server.url}/api/tokens`, {
    method: "POST",
    headers: { ...admin, "Content-Type": "application/json" },
    body: JSON.stringify({ name: "short", roles: ["read"] }),
  });
  const { token, record } = await asked.json();
  await page.goto(`${server.url}/explore/sql?q=${encodeURIComponent("select name from spans limit 3")}`);
  await page.waitForSelector(FORM);
  await logIn(page, token);
  await page.waitForSelector(ROWS, { timeout: 20_000 });
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type(" -- unsaved");
  await fetch(`${server.url}/api/tokens/${record.id}`, { method: "DELETE", headers: admin });
  await page.getByRole("button", { name: "CSV" }).click();
  await page.waitForSelector(FORM);
  assert.match(await page.textContent(FORM), /any more/);
  await logIn(page, tokens.reader);
  await page.waitForSelector(FORM, { state: "detached" });
  assert.match(await page.textContent(".cm-content"), /-- unsaved/);
  await page.waitForSelector(ROWS);
  await context.close();
});

test("a token that is made in the page opens it as far as its role goes, until it is revoked there", async () => {
  const { page, context, complaints } = await watched(browser);
  await page.goto(`${server.url}/admin/tokens`);
  await page.waitForSelector(FORM);
  await logIn(page, tokens.admin);
  await page.getByLabel("What it is for").fill("visitor");
  await page.getByRole("checkbox", { name: "write" }).uncheck();
  await page.getByRole("checkbox", { name: "read" }).check();
  await page.getByRole("button", { name: "Make it" }).click();
  const told = page.getByRole("status").filter({ hasText: "shown once" });
  const made = await told.locator("code").textContent();
  const row = page.locator(ROWS).filter({ hasText: "visitor" });
  await row.getByText(`…${made.slice(-4)}`).waitFor();
  await page.reload();
  await row.waitFor();
  assert.ok(!(await page.textContent("main")).includes(made), "it is shown once");

  const answers = async (path) => {
    const headers = { Authorization: `Bearer ${made}` };
    return (await fetch(server.url + path, { headers })).status;
  };
  assert.deepEqual([await answers("/api/fleet"), await answers("/api/tokens")], [200, 403]);
  await page.getByRole("button", { name: "Revoke visitor" }).click();
  await page.getByRole("button", { name: "Keep" }).click();
  await page.getByRole("button", { name: "Revoke visitor" }).click();
  await page.getByRole("button", { name: "Revoke it" }).click();
  await row.waitFor({ state: "detached" });
  assert.equal(await answers("/api/fleet"), 401);
  assert.deepEqual(unexpected(complaints), []);
  await context.close();
});
