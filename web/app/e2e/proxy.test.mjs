// Below a prefix, behind a real Caddy: one that passes the prefix on, and one that strips it.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { until } from "./boards.mjs";
import { browse, demo, goes, serve, settled, watched } from "./harness.mjs";

const caddy = process.env.KYMO_CADDY ?? "caddy";

let browser;

before(async () => {
  browser = await browse();
});

after(async () => {
  await browser?.close();
});

function freePort() {
  return new Promise((found) => {
    const listener = createServer().listen(0, "127.0.0.1", () => {
      const { port } = listener.address();
      listener.close(() => found(port));
    });
  });
}

/** A proxy that is answering. Somebody else may take the port that was free before it does: then at another one. */
async function proxied(way) {
  const ended = [];
  while (ended.length < 5) {
    const { url, child, said } = await begun(way);
    const isOurs = () =>
      fetch(`${url}/`).then(
        ({ headers }) => headers.get("server") === "Caddy",
        () => false,
      );
    const stop = () => child.kill("SIGTERM");
    await until(async () => child.exitCode !== null || (await isOurs()), "the proxy answers").catch(
      (error) => {
        stop();
        throw error;
      },
    );
    if (child.exitCode === null) return { url, stop };
    ended.push(said.join(""));
  }
  assert.fail(`the proxy has ended: ${ended.at(-1)}`);
}

/** A proxy that has been started. */
async function begun(way) {
  const directory = mkdtempSync(join(tmpdir(), "kymo-caddy-"));
  const port = await freePort();
  const file = join(directory, "Caddyfile");
  writeFileSync(
    file,
    `{\n\tadmin off\n\tauto_https off\n\tstorage file_system ${directory}\n}\nhttp://127.0.0.1:${port} {\n${way}\n}\n`,
  );
  const child = spawn(caddy, ["run", "--adapter", "caddyfile", "--config", file], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const said = [];
  child.stderr.on("data", (chunk) => said.push(String(chunk)));
  return { url: `http://127.0.0.1:${port}`, child, said };
}

/** Asks through the proxy. */
async function ask(url, path, init) {
  const response = await fetch(`${url}/kymo${path}`, init);
  assert.ok(response.ok, `${path}: ${response.status}`);
  return response.json();
}

async function walks(url) {
  const { page, context, complaints } = await watched(browser);
  const outside = [];
  page.on("request", (request) => {
    const { pathname } = new URL(request.url());
    if (!pathname.startsWith("/kymo/")) outside.push(pathname);
  });
  const live = page.waitForResponse((response) => response.url().endsWith("/kymo/api/live"));
  await page.goto(`${url}/kymo/`);
  assert.match((await live).headers()["content-type"], /event-stream/);
  // What is heard comes through the proxy as it is said.
  await page.waitForFunction(() => /\d \/s/.test(document.querySelector("main .figures")?.textContent));

  await page.goto(`${url}/kymo/traces?from=now-2h&to=now`);
  await page.waitForSelector("[role=grid] [role=row]", { timeout: 20_000 });
  await settled(page);
  await page.locator("[role=grid] [role=row] a").first().click();
  await page.waitForURL(/\/kymo\/trace\/[0-9a-f]{32}/);
  await page.waitForSelector("[role=treegrid] [role=row]");
  await goes(page, "m", "/kymo/explore/metrics");
  await settled(page);
  // Deep links, loaded anew, and a link that is clicked.
  await page.reload();
  await settled(page);
  await page.click('nav.rail a[title="Dashboards"]');
  await page.waitForURL(/\/kymo\/dashboards/);
  await settled(page);
  const { dashboards } = await ask(url, "/api/dashboards");
  await page.goto(`${url}/kymo/d/${dashboards[0].uid}`);
  await page.waitForSelector(".panel .panel-content");
  const { code } = await ask(url, "/api/links", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ path: "/hosts?from=now-2h&to=now" }),
  });
  await page.goto(`${url}/kymo/s/${code}`);
  await page.waitForURL(`${url}/kymo/hosts?from=now-2h&to=now`);
  await page.waitForSelector('[role=grid] [role=row]:has-text("hpc-2")');
  await settled(page);
  assert.deepEqual(outside, [], "everything is asked for below the prefix");
  assert.deepEqual(complaints, []);
  await context.close();
}

test("a proxy that passes the prefix on", async () => {
  const server = await serve({ args: ["--base-path", "/kymo"] });
  await demo(server, { history: "10m", seconds: 1 });
  const proxy = await proxied(`\thandle /kymo* {\n\t\treverse_proxy 127.0.0.1:${server.ports.http}\n\t}`);
  try {
    await walks(proxy.url);
  } finally {
    proxy.stop();
    await server.stop();
  }
});

test("a proxy that strips the prefix", async () => {
  const server = await serve({ args: ["--trusted-proxies", "127.0.0.1/32"] });
  await demo(server, { history: "10m", seconds: 1 });
  const proxy = await proxied(
    `\thandle_path /kymo* {\n\t\treverse_proxy 127.0.0.1:${server.ports.http} {\n\t\t\theader_up X-Forwarded-Prefix /kymo\n\t\t}\n\t}`,
  );
  try {
    await walks(proxy.url);
  } finally {
    proxy.stop();
    await server.stop();
  }
});
