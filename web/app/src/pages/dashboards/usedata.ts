/** What a dashboard shows: its layout, and the loader that asks for the panels in sight. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { place } from "../../frame/router";
import { type Range, range, rangeText } from "../../frame/time";
import { type Asked, useAsk } from "../../frame/useask";
import { type Marked, useMarks } from "./annotations";
import { layOut } from "./layout";
import { Loader } from "./loader";
import type { Context, Json, Layout, Loaded, Which } from "./model";
import { variablesOf } from "./variables";

/** A dashboard that is being typed is laid out when its author pauses. */
const PAUSE_MILLIS = 250;

interface Data {
  asked: Asked<Layout>;
  loader: Loader;
  context: Context;
  marked: Marked;
}

/** `zone` is the one that the server writes dates in. */
export function useData(loaded: Loaded, draft: Json | undefined, zone: string): Data {
  const loader = useMemo(() => new Loader(), []);
  const [settledDraft, setSettledDraft] = useState(draft);
  useEffect(() => {
    const timer = setTimeout(() => setSettledDraft(draft), PAUSE_MILLIS);
    return () => clearTimeout(timer);
  }, [draft]);
  const { query } = place.value;
  const chosen = JSON.stringify(variablesOf(query));
  const isAsking = useRef(false);
  const held = useHeld(range.value, chosen, () => loader.isBusy.value || isAsking.current);
  const which: Which = useMemo(
    () => (settledDraft ? { dashboard: settledDraft } : { uid: loaded.meta.uid }),
    [settledDraft, loaded],
  );
  const { from, to } = rangeText.value;
  const context = useMemo<Context>(
    () => ({
      variables: JSON.parse(chosen) as Record<string, string[]>,
      timezone: zone,
      from: Math.round(held.from),
      to: Math.round(held.to),
      rawFrom: from,
      rawTo: to,
    }),
    [chosen, zone, held, from, to],
  );
  const asked: Asked<Layout> = useAsk((signal) => layOut(which, context, signal), [which, context]);
  isAsking.current = asked.loading;
  const marked = useMarks(which, context, asked.data);
  // Data is asked for when it is known which variables hold, so that panels are asked for once.
  useEffect(() => {
    if (asked.data && !asked.loading) loader.begin(which, context, keysOf(asked.data));
  }, [asked.data]);
  useEffect(() => () => loader.stop(), []);
  return { asked, loader, context, marked };
}

/**
 * The time that is asked for. A refresh that comes before the last one is answered waits for it: otherwise
 * panels that are slower than the refreshes would never be answered. What somebody chooses does not wait.
 */
function useHeld(newest: Range, chosen: string, isBusy: () => boolean): Range {
  const choice = `${rangeText.value.from} ${rangeText.value.to} ${chosen}`;
  const held = useRef({ choice, range: newest });
  const isOther = held.current.choice !== choice;
  // Only a time that has to wait is drawn again when the wait is over.
  if (isOther || (held.current.range !== newest && !isBusy())) held.current = { choice, range: newest };
  return held.current.range;
}

function keysOf({ sections }: Layout): Set<string> {
  return new Set(sections.flatMap(({ panels }) => panels.map(({ key }) => key)));
}
