/** Why a search found nothing: what each condition costs, and where the newest data is. */
import { getJson } from "../../frame/api";
import { href } from "../../frame/base";
import { link, setParams } from "../../frame/router";
import { range } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { ago, count, millisOf } from "../../ui/format";
import { Answer, Empty } from "../../ui/states";
import { askTotals } from "./ask";
import type { TempoSeries } from "./difference";
import { type Condition, parse, write } from "./query";

/** More conditions than this are not tried one by one. */
const MOST_TRIED = 6;
const MARGIN_MILLIS = 600_000;

export function Nothing({ query, onQuery }: { query: string; onQuery: (query: string) => void }) {
  const shown = range.value;
  const built = parse(query);
  const conditions = (built?.conditions ?? []).slice(0, MOST_TRIED);
  const filter = built && built.stages !== "" ? write({ ...built, stages: "" }) : undefined;
  const counts = useAsk(
    (signal) =>
      Promise.all([
        spans("{}", signal),
        filter === undefined ? 0 : spans(filter, signal),
        ...conditions.map((condition) => spans(without(query, condition), signal)),
      ]),
    [query, shown],
  );
  const newest = useAsk((signal) => newestOf(conditions, signal), [query]);
  return (
    <Empty title="No trace matches">
      <Answer of={counts} lines={2}>
        {([all, unstaged = 0, ...rest]) => (
          <ul class="nothing">
            <li>
              {all === 0
                ? "No span at all is in the time shown."
                : `None of ${count(all ?? 0)} spans in the time shown match.`}
            </li>
            {filter !== undefined && unstaged > 0 && (
              <li>
                Without <code>{built?.stages}</code>{" "}
                <button type="button" class="text-button" onClick={() => onQuery(filter)}>
                  {count(unstaged)} spans match
                </button>
              </li>
            )}
            {conditions.map((condition, at) => {
              const left = without(query, condition);
              return (
                <li key={at}>
                  Without <code>{`${condition.field} ${condition.operator} ${condition.value}`}</code>{" "}
                  {rest[at] === 0 ? (
                    "still none match"
                  ) : (
                    <button type="button" class="text-button" onClick={() => onQuery(left)}>
                      {count(rest[at] ?? 0)} spans match
                    </button>
                  )}
                </li>
              );
            })}
          </ul>
        )}
      </Answer>
      <Answer of={newest} lines={1}>
        {(found) => <Newest of={found} />}
      </Answer>
    </Empty>
  );
}

function Newest({ of }: { of: { millis?: number; service?: string } }) {
  const whose = of.service ? `of service ${of.service} ` : "";
  if (of.millis === undefined) {
    return of.service ? (
      <p>No data {whose}is stored.</p>
    ) : (
      <p>
        Nothing is stored yet. <a href={href(link("/", { send: true }))}>How to send data</a>
      </p>
    );
  }
  const millis = of.millis;
  if (millis >= range.value.from && millis <= range.value.to) return null;
  return (
    <p>
      The newest data {whose}is from {ago(millis)}.{" "}
      <Button
        onClick={() =>
          setParams({ from: Math.round(millis - MARGIN_MILLIS), to: Math.round(millis + MARGIN_MILLIS) })
        }
      >
        Go there
      </Button>
    </p>
  );
}

function without(query: string, condition: Condition): string {
  const built = parse(query)!;
  const same = (one: Condition) =>
    one.field === condition.field && one.operator === condition.operator && one.value === condition.value;
  return write({ conditions: built.conditions.filter((one) => !same(one)), stages: "" });
}

/** How many spans of the time shown match. */
async function spans(filter: string, signal: AbortSignal): Promise<number> {
  const shown = range.peek();
  const series: readonly TempoSeries[] = await askTotals(`${filter} | count_over_time()`, shown, signal);
  return series.reduce(
    (sum, { samples }) => sum + samples.reduce((part, { value = 0 }) => part + value, 0),
    0,
  );
}

/** When the newest span of the service that is asked for began, or of all. */
async function newestOf(
  conditions: readonly Condition[],
  signal: AbortSignal,
): Promise<{ millis?: number; service?: string }> {
  const service = conditions.find(
    ({ field, operator }) => field === "resource.service.name" && operator === "=",
  );
  const filter = service ? write({ conditions: [service], stages: "" }) : "{}";
  const answer = await getJson<{ traces?: { startTimeUnixNano?: string }[] }>(
    "/tempo/api/search",
    { q: filter, limit: 1 },
    signal,
  );
  const start = answer.traces?.[0]?.startTimeUnixNano;
  return { millis: start === undefined ? undefined : millisOf(start), service: service?.value };
}
