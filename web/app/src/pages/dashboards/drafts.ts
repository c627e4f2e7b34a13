/**
 * Changes of a dashboard that are not saved yet. They stay when the page is left for another and come back
 * with it; before the browser closes them, it asks. Each knows which version it is a change of, so that
 * what somebody else has saved meanwhile is not overwritten unasked.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { param } from "../../frame/router";
import { sitting } from "../../frame/token";
import type { Json, Loaded } from "./model";

export interface Draft {
  /** The model as it is changed. */
  dashboard: Json;
  /** The document that the model was made of, for as long as nothing else is changed: it is saved as it is. */
  written?: Json;
  /** The version that was loaded when the first change was made. */
  version: number;
}

/** Sets what is changed, with the document that it was made of if that is to be saved as it is. */
export type SetDraft = (next: Json | undefined, written?: Json) => void;

const kept = new Map<string, Draft>();

/** Drafts are of who made them, for the tenant that they were made for. */
function keyOf(uid: string): string {
  return [sitting.peek(), param("tenant") ?? "", uid].join("\u0001");
}

function keep(key: string, draft: Draft | undefined): void {
  if (draft) kept.set(key, draft);
  else kept.delete(key);
  if (kept.size > 0) window.addEventListener("beforeunload", hold);
  else window.removeEventListener("beforeunload", hold);
}

/** The browser asks whether the page is to be left. */
function hold(event: Event): void {
  event.preventDefault();
}

/** A draft after a change: of the version that the first change was made of. */
export function changed(
  before: Pick<Draft, "version"> | undefined,
  loaded: Loaded,
  next: Json | undefined,
  written?: Json,
): Draft | undefined {
  if (next === undefined || next === loaded.model) return undefined;
  const draft: Draft = { dashboard: next, version: before?.version ?? loaded.meta.version };
  return written === undefined || written === next ? draft : { ...draft, written };
}

/**
 * The draft of a dashboard, what sets it (nothing discards it), and what to call when it has been saved. It
 * goes when what was saved is loaded; what is changed until then is a change of what was saved.
 */
export function useDraft(
  loaded: Loaded,
): [draft: Draft | undefined, set: SetDraft, saved: (version: number) => void] {
  const [key] = useState(() => keyOf(loaded.meta.uid));
  const [draft, setDraft] = useState(() => kept.get(key));
  /** The version that this was saved as, until that is loaded or something is changed. */
  const savedVersion = useRef<number | undefined>(undefined);
  const set: SetDraft = (next, written) => {
    const version = savedVersion.current;
    savedVersion.current = undefined;
    const made = changed(version === undefined ? draft : { version }, loaded, next, written);
    keep(key, made);
    setDraft(made);
  };
  // It is loaded at other times too, as when the server is back.
  useEffect(() => {
    if (savedVersion.current !== undefined) set(undefined);
  }, [loaded]);
  const saved = (version: number) => {
    keep(key, undefined);
    savedVersion.current = version;
  };
  return [draft, set, saved];
}
