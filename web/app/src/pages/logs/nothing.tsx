/** Why there are no lines: what is asked for leaves all out, or those that there are came at another time. */
import { href } from "../../frame/base";
import { link, param, setParams } from "../../frame/router";
import { type Range, range, setRange } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { ago, count, millisOf } from "../../ui/format";
import { Answer, Empty } from "../../ui/states";
import { countLines, newestLine } from "./ask";
import { selectorOf } from "./query";

/** How far back lines are looked for. */
const LOOKBACK_DAYS = 30;
const DAY_MILLIS = 86_400_000;
/** The newest line is not to stand at the edge. */
const AFTER_MILLIS = 1000;

type Why =
  /** The streams have so many lines in this time. */
  | { kind: "filtered"; lines: number }
  /** The newest line of the streams is of another time. */
  | { kind: "elsewhere"; millis: number }
  | { kind: "nowhere" };

/** What is known of the streams of a query that answered nothing. */
export async function whyNone(query: string, shown: Range, signal: AbortSignal): Promise<Why> {
  const selector = selectorOf(query);
  if (selector !== query.trim()) {
    const lines = await countLines(selector, shown, signal);
    if (lines > 0) return { kind: "filtered", lines };
  }
  const to = Date.now();
  const nanos = await newestLine(selector, { from: to - LOOKBACK_DAYS * DAY_MILLIS, to }, signal);
  return nanos === undefined ? { kind: "nowhere" } : { kind: "elsewhere", millis: millisOf(nanos) };
}

/** `query`: what was asked, with text and levels; `hasLogs`: whether any lines are of the time shown. */
export function NoLines({ query, hasLogs }: { query: string; hasLogs: boolean }) {
  const shown = range.value;
  const asked = useAsk((signal) => whyNone(query, shown, signal), [query, shown]);
  return (
    <Empty title={hasLogs ? "No line matches in the time shown" : "No lines at all are in the time shown"}>
      <Answer of={asked} lines={2}>
        {(why) => <Told why={why} selector={selectorOf(query)} />}
      </Answer>
    </Empty>
  );
}

function Told({ why, selector }: { why: Why; selector: string }) {
  const isNarrowed = param("text") !== undefined || param("level") !== undefined;
  if (why.kind === "filtered") {
    const hasStages = (param("q") ?? selector).trim() !== selector;
    return (
      <>
        <p>
          <code>{selector}</code> has {count(why.lines)} lines in this time; what else is asked for leaves
          none of them.
        </p>
        <div class="row">
          {isNarrowed && (
            <Button onClick={() => setParams({ text: undefined, level: undefined })}>
              Without text and levels
            </Button>
          )}
          {hasStages && (
            <Button onClick={() => setParams({ q: selector, text: undefined, level: undefined })}>
              All of these lines
            </Button>
          )}
        </div>
      </>
    );
  }
  if (why.kind === "nowhere") {
    return (
      <p>
        No line of <code>{selector}</code> came in the last {LOOKBACK_DAYS} days.{" "}
        <a href={href(link("/", { send: true }))}>How to send data</a>
      </p>
    );
  }
  const { millis } = why;
  const { from, to } = range.value;
  return (
    <p>
      The newest line of <code>{selector}</code> is from {ago(millis)}.{" "}
      <Button onClick={() => setRange(millis - (to - from), millis + AFTER_MILLIS)}>Go there</Button>
    </p>
  );
}
