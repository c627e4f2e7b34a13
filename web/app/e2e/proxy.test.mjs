// Below a prefix, behind a real Caddy: one that passes the prefix on, and one that strips it.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { browse, demo, serve, settled, watched } from "./harness.mjs";

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

async function proxied(way) {
  const directory = mkdtempSync(join(tmpdir(), "kymo-caddy-"));
  const port = await freePort();
  const file = join(directory, "Caddyfile");
  writeFileSync(
    file,
    `{\n\tadmin off\n\tauto_https off\n\tstorage file_system ${directory}\n}\nhttp://127.0.0.1:${port} {\n${way}\n}\n`,
  );
  const child = spawn(caddy, ["run", "--adapter", "caddyfile", "--config", file], { stdio: "ignore" });
  const url = `http://127.0.0.1:${port}`;
  for (let turn = 0; turn < 100; turn += 1) {
    if (
      await fetch(`${url}/`).then(
        () => true,
        () => false,
      )
    )
      break;
    await new Promise((done) => setTimeout(done, 50));
  }
  return { url, stop: () => child.kill("SIGTERM") };
}

async function walks(url) {
  const { page, context, complaints } = await watched(browser);
  await page.goto(`${url}/kymo/traces?from=now-2h&to=now`);
  await page.waitForSelector("[role=grid] [role=row]", { timeout: 20_000 });
  await settled(page);
  await page.keyboard.press("g");
  await page.keyboard.press("m");
  await page.waitForURL(/\/kymo\/explore\/metrics/);
  await settled(page);
  // A deep link, loaded anew, and a link that is clicked.
  await page.reload();
  await settled(page);
  await page.click('nav.rail a[title="Dashboards"]');
  await page.waitForURL(/\/kymo\/dashboards/);
  await settled(page);
  const asked = await page.evaluate(() =>
    performance.getEntriesByType("resource").map(({ name }) => new URL(name).pathname),
  );
  assert.deepEqual(
    asked.filter((path) => !path.startsWith("/kymo/")),
    [],
    "everything is asked for below the prefix",
  );
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
