// How tests with a browser report: a line for each file, and in full only what failed, once more at the end,
// so that the reason is found without reading what passed.
import { basename } from "node:path";
import { inspect } from "node:util";

const isGroup = ({ details }) => details?.type === "suite";

/** What failed: its name, where it stands, why. */
function told({ name, file, line, details }) {
  const cause = details.error?.cause ?? details.error;
  const text = cause instanceof Error ? (cause.stack ?? cause.message) : inspect(cause);
  return `not ok - ${name} (${basename(file ?? "")}:${line})\n${text.replace(/^/gm, "    ")}\n`;
}

export default async function* report(events) {
  const files = new Map();
  const failures = [];
  for await (const { type, data } of events) {
    if (type === "test:stderr" || type === "test:stdout") yield data.message;
    if (type !== "test:pass" && type !== "test:fail") continue;
    const file = basename(data.file ?? data.name);
    const tally = files.get(file) ?? { passed: 0, failed: 0, skipped: 0, millis: 0 };
    files.set(file, tally);
    if (data.nesting === 0) tally.millis += data.details.duration_ms;
    // A group fails with its tests, which say more; a file that could not even begin is one itself.
    const isOfTests = data.details?.error?.failureType === "subtestsFailed";
    if (isGroup(data) ? type === "test:pass" : isOfTests) continue;
    if (data.skip !== undefined) tally.skipped += 1;
    else if (type === "test:pass") tally.passed += 1;
    else if (!isOfTests) {
      tally.failed += 1;
      failures.push(told(data));
      yield failures.at(-1);
    }
  }
  let [passed, failed] = [0, 0];
  for (const [file, tally] of files) {
    passed += tally.passed;
    failed += tally.failed;
    const skipped = tally.skipped > 0 ? `, ${tally.skipped} skipped` : "";
    const seconds = (tally.millis / 1000).toFixed(1);
    yield `${file}: ${tally.passed} passed, ${tally.failed} failed${skipped}, ${seconds} s\n`;
  }
  if (failures.length > 0) yield `\n${failures.join("\n")}`;
  yield `\n${passed} passed, ${failed} failed\n`;
}
