/** Lines as they are stored, with more on demand; lines as they come. */
import { useEffect, useState } from "preact/hooks";
import { href } from "../../frame/base";
import { link, param, setParams } from "../../frame/router";
import { range } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { queryError } from "../../ui/editor/errors";
import { ago, count } from "../../ui/format";
import { Icon } from "../../ui/icon";
import { Answer, Empty, ErrorBox, Warning } from "../../ui/states";
import { askRange } from "./ask";
import { DownloadButton } from "./download";
import type { LogLine } from "./lines";
import { type LineActions, LineList } from "./list";
import { MOST_LINES, useTail } from "./tail";

const DEFAULT_LIMIT = 300;
const MOST = 5000;

interface ViewProps extends LineActions {
  query: string;
  isWrapped: boolean;
  /** Told of what goes wrong: what is wrong with the query is shown where it is written. */
  onError: (error?: Error) => void;
}

/** `hasLogs`: whether any are of the time shown. */
export function Stored({ query, onError, hasLogs, ...rest }: ViewProps & { hasLogs: boolean }) {
  const shown = range.value;
  const limit = Math.max(1, Math.min(MOST, Number(param("limit")) || DEFAULT_LIMIT));
  const direction = param("order") === "oldest" ? "forward" : "backward";
  const asked = useAsk(
    async (signal) => (await askRange(query, shown, { limit, direction }, signal)).lines,
    [query, shown, limit, direction],
  );
  useEffect(() => {
    onError(asked.error);
    return () => onError(undefined);
  }, [asked.error]);
  if (queryError(query, asked.error)) return null;
  return (
    <Answer of={asked} lines={14}>
      {(found) => {
        const lines = direction === "forward" ? found.toReversed() : found;
        return lines.length === 0 ? (
          <NoLines hasLogs={hasLogs} />
        ) : (
          <>
            <div class="row">
              <span role="status">{count(lines.length)} lines</span>
              <Button
                kind="quiet"
                onClick={() =>
                  setParams({ order: direction === "forward" ? undefined : "oldest" }, { replace: true })
                }
              >
                {direction === "forward" ? "oldest first" : "newest first"}
              </Button>
              <DownloadButton lines={lines} />
            </div>
            <LineList lines={lines} {...rest} />
            <More lines={lines} limit={limit} isOldestFirst={direction === "forward"} />
          </>
        );
      }}
    </Answer>
  );
}

function More({
  lines,
  limit,
  isOldestFirst,
}: {
  lines: readonly LogLine[];
  limit: number;
  isOldestFirst: boolean;
}) {
  if (lines.length < limit) return null;
  const what = isOldestFirst ? "The oldest" : "The newest";
  return (
    <Warning>
      {what} {count(limit)} lines are shown.{" "}
      {limit < MOST ? (
        <Button onClick={() => setParams({ limit: Math.min(MOST, limit * 4) }, { replace: true })}>
          Show {count(Math.min(MOST, limit * 4))}
        </Button>
      ) : (
        "Narrow the query or the time to see others."
      )}
    </Warning>
  );
}

/** Why there are no lines: none are stored of this time, or what is asked for leaves all out. */
function NoLines({ hasLogs }: { hasLogs: boolean }) {
  const isNarrowed = param("text") !== undefined || param("level") !== undefined;
  return (
    <Empty title={hasLogs ? "No line matches in the time shown" : "No lines at all are in the time shown"}>
      {hasLogs ? (
        <p>
          There are logs in this time, but none that the query
          {isNarrowed ? ", the text and the levels leave" : " leaves"}.
        </p>
      ) : (
        <p>
          Older ones may be stored; or <a href={href(link("/"))}>nothing is sent yet</a>.
        </p>
      )}
      {hasLogs && isNarrowed && (
        <Button onClick={() => setParams({ text: undefined, level: undefined })}>
          Without text and levels
        </Button>
      )}
      <Button onClick={() => setParams({ from: "now-24h", to: "now" })}>The last 24 hours</Button>
    </Empty>
  );
}

export function Tailed({ query, onError, ...rest }: ViewProps) {
  const [isPaused, setPaused] = useState(false);
  const tail = useTail(query, isPaused);
  useEffect(() => {
    onError(tail.error);
    return () => onError(undefined);
  }, [tail.error]);
  if (tail.error) return queryError(query, tail.error) ? null : <ErrorBox error={tail.error} />;
  const words = { connecting: "connecting", open: "live", broken: "broken off; trying again" };
  return (
    <>
      <div class="row">
        <span role="status" class={tail.state === "open" ? "badge badge-good" : "badge badge-warn"}>
          <Icon name={tail.state === "open" ? "live" : "refresh"} size={11} /> {words[tail.state]}
        </span>
        <span>
          {count(tail.lines.length)} lines
          {tail.lines.length >= MOST_LINES ? ", older ones are forgotten" : ""}
        </span>
        {tail.lines[0] && (
          <span class="muted">newest {ago(Number(BigInt(tail.lines[0].nanos) / 1_000_000n))}</span>
        )}
        <Button icon={isPaused ? "play" : "pause"} pressed={isPaused} onClick={() => setPaused(!isPaused)}>
          {isPaused ? `Go on${tail.waiting > 0 ? ` (${count(tail.waiting)} new)` : ""}` : "Pause"}
        </Button>
        <DownloadButton lines={tail.lines} />
      </div>
      {tail.dropped > 0 && <Warning>{count(tail.dropped)} lines came too fast and were left out.</Warning>}
      {tail.isCut && <Warning>More lines came than are told at once: some are left out.</Warning>}
      {tail.lines.length === 0 ? (
        <Empty title="No line has come yet">
          <p>Lines that match are shown as they come.</p>
        </Empty>
      ) : (
        <LineList lines={tail.lines} isGrowing {...rest} />
      )}
    </>
  );
}
