/** Lines as they are stored, with more on demand; lines as they come. */
import { useState } from "preact/hooks";
import { param, setParams } from "../../frame/router";
import { range } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { queryError } from "../../ui/editor/errors";
import { ago, count } from "../../ui/format";
import { Icon } from "../../ui/icon";
import { Answer, Empty, ErrorBox, Warning } from "../../ui/states";
import { askRange } from "./ask";
import { DownloadButton } from "./download";
import { type First, type Further, useFurther } from "./further";
import { type LineActions, LineList } from "./list";
import { NoLines } from "./nothing";
import { useReported } from "./reported";
import { MOST_LINES, useTail } from "./tail";

const DEFAULT_LIMIT = 300;
/** Lines that are asked for at once at most; others come in pieces. */
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
    async (signal): Promise<First> => {
      const { lines } = await askRange(query, shown, { limit, direction }, signal);
      const inOrder = direction === "forward" ? lines.toReversed() : lines;
      return { query, range: shown, direction, limit, lines: inOrder };
    },
    [query, shown, limit, direction],
  );
  const further = useFurther(asked.data);
  useReported(asked.error, onError);
  if (queryError(query, asked.error)) return null;
  return (
    <Answer of={asked} lines={14}>
      {(first) => {
        const lines = further.lines.length === 0 ? first.lines : [...first.lines, ...further.lines];
        const isOldestFirst = first.direction === "forward";
        return lines.length === 0 ? (
          <NoLines query={query} hasLogs={hasLogs} />
        ) : (
          <>
            <div class="row">
              <span role="status">{count(lines.length)} lines</span>
              <Button
                kind="quiet"
                onClick={() => setParams({ order: isOldestFirst ? undefined : "oldest" }, { replace: true })}
              >
                {isOldestFirst ? "oldest first" : "newest first"}
              </Button>
              <DownloadButton lines={lines} />
            </div>
            <LineList lines={lines} {...rest} />
            {first.lines.length >= first.limit && (
              <More
                shown={lines.length}
                limit={first.limit}
                isOldestFirst={isOldestFirst}
                further={further}
              />
            )}
          </>
        );
      }}
    </Answer>
  );
}

/** What comes behind the lines that are shown: more of the first, which the address has, or a piece beyond. */
function More(props: { shown: number; limit: number; isOldestFirst: boolean; further: Further }) {
  const { shown, limit, isOldestFirst, further } = props;
  const which = isOldestFirst ? "later" : "older";
  const wider = Math.min(MOST, limit * 4);
  if (further.isAtEnd) return <p class="muted">No {which} lines match in the time shown.</p>;
  return (
    <>
      {further.error && <ErrorBox error={further.error} again={further.more} />}
      <Warning>
        The {isOldestFirst ? "oldest" : "newest"} {count(shown)} lines are shown.{" "}
        {shown === limit && limit < MOST && (
          <Button onClick={() => setParams({ limit: wider }, { replace: true })}>Show {count(wider)}</Button>
        )}{" "}
        {further.isFull ? (
          "Narrow the query or the time to see others."
        ) : (
          <Button disabled={further.isAsking} onClick={further.more}>
            {isOldestFirst ? "Later lines" : "Older lines"}
          </Button>
        )}
      </Warning>
    </>
  );
}

export function Tailed({ query, onError, ...rest }: ViewProps) {
  const [isPaused, setPaused] = useState(false);
  const tail = useTail(query, isPaused);
  useReported(tail.error, onError);
  if (tail.error) return queryError(query, tail.error) ? null : <ErrorBox error={tail.error} />;
  const words = { connecting: "connecting", open: "live", broken: "broken off; trying again" };
  return (
    <>
      <div class="row">
        <span role="status" class={tail.state === "open" ? "badge badge-good" : "badge badge-warn"}>
          <Icon name={tail.state === "open" ? "live" : "refresh"} size={11} /> {words[tail.state]}
        </span>
        {tail.state === "broken" && tail.reason && <span class="warn">{tail.reason}</span>}
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
