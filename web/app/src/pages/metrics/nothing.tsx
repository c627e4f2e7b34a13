/** That a query answers nothing, and why. */
import { range, setRange } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { ago } from "../../ui/format";
import { Answer, Empty } from "../../ui/states";
import { LOOKBACK_DAYS, type Where, whereIs } from "./where";

/** The newest sample is not to stand at the edge. */
const AFTER_MILLIS = 60_000;

/** `query`: what was asked, its intervals put in. */
export function Nothing({ query }: { query: string }) {
  const shown = range.value;
  const asked = useAsk((signal) => whereIs(query, shown, signal), [query, shown]);
  return (
    <Empty title="No series in the time shown">
      <Answer of={asked} lines={1}>
        {(where) => <Why where={where} />}
      </Answer>
    </Empty>
  );
}

function Why({ where }: { where: Where | undefined }) {
  if (where === undefined) return <p>The query names no series.</p>;
  if (where.kind === "here") {
    return (
      <p>
        There are series that it names, and nothing is left of them: a condition may leave all out, or a
        window such as <code>[1m]</code> be too short to hold samples.
      </p>
    );
  }
  if (where.kind === "nowhere")
    return <p>Nothing with these names and labels came in the last {LOOKBACK_DAYS} days.</p>;
  const { millis } = where;
  if (millis === undefined) return <p>There were such series within the last {LOOKBACK_DAYS} days.</p>;
  const { from, to } = range.value;
  return (
    <p>
      There were such series at another time, with samples until {ago(millis)}.{" "}
      <Button onClick={() => setRange(millis - (to - from), millis + AFTER_MILLIS)}>Go there</Button>
    </p>
  );
}
