// A picture of a page, and what its console said: node tools/shot.mjs URL FILE.png [--light] [--size=1400x900] [--wait=MS] [--keys=a,b] [--click=SELECTOR]
import { chromium } from "playwright-core";

const [url, file, ...flags] = process.argv.slice(2);
const flag = (name) =>
  flags
    .find((one) => one.startsWith(`--${name}`))
    ?.split("=")
    .slice(1)
    .join("=");
const [width, height] = (flag("size") ?? "1400x900").split("x").map(Number);
const browser = await chromium.launch({
  executablePath: process.env.KYMO_CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"],
});
const context = await browser.newContext({
  viewport: { width, height },
  colorScheme: flags.includes("--light") ? "light" : "dark",
});
const page = await context.newPage();
page.on(
  "console",
  (message) =>
    ["error", "warning"].includes(message.type()) && console.log(`${message.type()}: ${message.text()}`),
);
page.on("pageerror", (error) => console.log(`failed: ${error.message}`));
await page.goto(url);
await page.waitForLoadState("networkidle", { timeout: 10_000 }).catch(() => {});
if (flag("click")) await page.click(flag("click"));
for (const key of (flag("keys") ?? "").split(",").filter(Boolean)) await page.keyboard.press(key);
await page.waitForTimeout(Number(flag("wait") ?? 500));
await page.screenshot({ path: file });
await browser.close();
