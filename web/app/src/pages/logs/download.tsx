/** The lines that are shown, as a file: text, or JSON with their labels. */
import { fullTime, millisOf } from "../../ui/format";
import { Icon } from "../../ui/icon";
import { Popover } from "../../ui/popover";
import { save } from "../../ui/save";
import type { LogLine } from "./lines";

export function DownloadButton({ lines }: { lines: readonly LogLine[] }) {
  const text = () =>
    lines.map((line) => `${fullTime(millisOf(line.nanos))} ${line.level} ${line.text}\n`).join("");
  const json = () =>
    lines
      .map(({ nanos, text, labels }) => `${JSON.stringify({ timestamp: nanos, line: text, labels })}\n`)
      .join("");
  return (
    <Popover label="Download the lines" kind="quiet" button={<Icon name="download" />}>
      {(close) => (
        <>
          <button
            type="button"
            class="menu-item"
            onClick={() => {
              save("logs.txt", "text/plain", text());
              close();
            }}
          >
            Text
          </button>
          <button
            type="button"
            class="menu-item"
            onClick={() => {
              save("logs.jsonl", "application/x-ndjson", json());
              close();
            }}
          >
            JSON lines with labels
          </button>
        </>
      )}
    </Popover>
  );
}
