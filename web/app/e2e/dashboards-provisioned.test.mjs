// Dashboards of folders, as they are provisioned: files of JSON and ConfigMaps of Kubernetes are listed, opened,
// and read again when they change. The page makes copies of them.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { ask, board, chart, drawn, exported, panelOf, sendGauges, standing, until } from "./boards.mjs";
import { browse, serve, shots, watched } from "./harness.mjs";

let server;
let browser;
let folder;

const FILE = board("from-file", [chart(1, "Of the file", "queue_length")]);
const MAP = board("from-map", [chart(1, "Of the map", "queue_length")]);

/** A ConfigMap with a dashboard in it, as it is written for Grafana's sidecar. */
function configMap(name, dashboard) {
  const lines = JSON.stringify(dashboard, null, 2).split("\n");
  return [
    "apiVersion: v1",
    "kind: ConfigMap",
    "metadata:",
    `  name: ${name}`,
    "  labels:",
    '    grafana_dashboard: "1"',
    "data:",
    `  ${name}.json: |-`,
    ...lines.map((line) => `    ${line}`),
    "",
  ].join("\n");
}

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "kymo-boards-"));
  mkdirSync(join(folder, "below"));
  writeFileSync(join(folder, "below", "file.json"), JSON.stringify(FILE));
  writeFileSync(join(folder, "map.yaml"), configMap("map", MAP));
  server = await serve({ args: ["--dashboards-paths", folder] });
  browser = await browse();
  await sendGauges(server, "queue_length", [{ value: 7, labels: { queue: "a" } }]);
});

after(async () => {
  await browser?.close();
  await server?.stop();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

for (const [dashboard, title] of [
  [FILE, "Of the file"],
  [MAP, "Of the map"],
]) {
  test(`${dashboard.uid} is listed, opened, drawn and given back as it is written`, async () => {
    const { page, context, complaints } = await watched(browser);
    await page.goto(`${server.url}/dashboards`);
    await page.getByRole("link", { name: dashboard.title, exact: true }).click();
    await page.waitForURL(/\/d\//);
    await drawn(page);
    assert.deepEqual(
      (await standing(page)).map(({ title, error, hasData }) => [title, error, hasData]),
      [[title, undefined, true]],
    );
    await page.getByText("provisioned", { exact: true }).waitFor();
    await page.screenshot({ path: join(shots, `dashboard-${dashboard.uid}.png`) });
    assert.deepEqual(await exported(page), dashboard);
    assert.deepEqual(complaints, []);
    await context.close();
  });
}

test("a file that changes is what is shown next, and a copy of it is one's own", async () => {
  const { page, context } = await watched(browser);
  const changed = { ...FILE, panels: [chart(1, "Changed", "queue_length"), chart(2, "New", "queue_length")] };
  writeFileSync(join(folder, "below", "file.json"), JSON.stringify(changed));
  // Folders are looked at again every so often.
  await until(
    async () => (await ask(server, "/api/dashboards/from-file")).dashboard.panels.length === 2,
    "the file as it is now",
  );
  await page.goto(`${server.url}/d/from-file`);
  await panelOf(page, "New").waitFor();
  assert.equal(await panelOf(page, "Of the file").count(), 0);
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("button", { name: "Save a copy", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Save a copy" });
  await dialog.getByLabel("Title").fill("Mine");
  await dialog.getByRole("button", { name: "Save", exact: true }).click();
  await page.waitForURL((url) => url.pathname !== "/d/from-file");
  await panelOf(page, "New").waitFor();
  const { dashboards } = await ask(server, "/api/dashboards");
  const kinds = dashboards.filter(({ kind }) => kind !== "shipped").map(({ title, kind }) => [title, kind]);
  assert.deepEqual(kinds.sort(), [
    [FILE.title, "provisioned"],
    [MAP.title, "provisioned"],
    ["Mine", "own"],
  ]);
  await context.close();
});
