/**
 * Annotations of a dashboard: asked for by themselves, so that panels do not wait for them. Which are shown is
 * in the address as `annotation-name=1` or `0`, where that is not what the dashboard says; over which panels
 * they are is the dashboard's to say.
 */
import { useRef } from "preact/hooks";
import { sendJson } from "../../frame/api";
import { place, setParams } from "../../frame/router";
import { useAsk } from "../../frame/useask";
import { Check } from "../../ui/field";
import type { Context, Layout, Mark, Switchable, Which } from "./model";

const PREFIX = "annotation-";

export interface Switch {
  name: string;
  isOn: boolean;
  /** What the dashboard says. */
  isOnAsWritten: boolean;
}

/** The annotations as they are switched. */
export function switchesOf(listed: readonly Switchable[], query: URLSearchParams): Switch[] {
  return listed.map(({ name, enable }) => {
    const chosen = query.get(PREFIX + name);
    return { name, isOnAsWritten: enable, isOn: chosen === null ? enable : chosen === "1" };
  });
}

export interface Marked {
  annotations: Mark[];
  /** What could not be found out. */
  notices: string[];
}

const NOTHING: Marked = { annotations: [], notices: [] };

/** The marks of the annotations that are switched on, and for as long as others are asked for the last ones. */
export function useMarks(which: Which, context: Context, layout: Layout | undefined): Marked {
  const switches = switchesOf(layout?.annotations ?? [], place.value.query);
  const wanted = JSON.stringify(Object.fromEntries(switches.map(({ name, isOn }) => [name, isOn])));
  const isAny = switches.some(({ isOn }) => isOn);
  const asked = useAsk(
    async (signal) =>
      isAny
        ? sendJson<Marked>(
            "POST",
            "/api/dashboards/annotations",
            { ...which, ...context, annotations: JSON.parse(wanted) },
            signal,
          )
        : NOTHING,
    [which, context, wanted, isAny],
  );
  const last = useRef(NOTHING);
  if (asked.data) last.current = asked.data;
  if (asked.error && !asked.data)
    return { annotations: [], notices: [`Annotations: ${asked.error.message}`] };
  return last.current;
}

/** The marks that are meant for a panel. */
export function marksFor(marks: readonly Mark[], panel: number): Mark[] {
  return marks.filter(({ panels }) => !panels || panels.ids.includes(panel) !== panels.exclude);
}

/** What switches annotations, beside the variables: not those that are hidden. */
export function Switches({ listed }: { listed: readonly Switchable[] }) {
  const all = switchesOf(
    listed.filter(({ hide }) => !hide),
    place.value.query,
  );
  if (all.length === 0) return null;
  return (
    <div class="row" role="group" aria-label="Annotations">
      {all.map(({ name, isOn, isOnAsWritten }) => (
        <Check
          key={name}
          label={name}
          checked={isOn}
          onChange={(wanted) =>
            setParams({ [PREFIX + name]: wanted === isOnAsWritten ? undefined : wanted ? "1" : "0" })
          }
        />
      ))}
    </div>
  );
}
