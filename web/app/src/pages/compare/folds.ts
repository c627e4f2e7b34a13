/**
 * Which paths of the comparison are folded, as it stands in the address: those that differ from what is folded
 * at first. A path is told by a number made of its names, so that it is the same in another answer.
 */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { param, setParams } from "../../frame/router";
import { type FlameNode, pathIds } from "../../ui/canvas/flamenodes";

/** What is folded before somebody turns a path, and the paths that were turned. */
export interface Folds {
  begin: "quiet" | "none";
  turned: ReadonlySet<string>;
}

/** Paths that an address has. */
const MOST_TURNED = 40;
const NONE = "none";

/** For the address; `undefined` if it is as at first, or more than can be said there. */
export function writeFolds({ begin, turned }: Folds): string | undefined {
  const ids = turned.size > MOST_TURNED ? [] : [...turned];
  return (begin === "none" ? [NONE, ...ids] : ids).join(",") || undefined;
}

/** What the address says. */
export function readFolds(text: string | undefined): Folds {
  const parts = (text ?? "").split(",").filter(Boolean);
  const turned = new Set(parts.filter((part) => part !== NONE));
  return { begin: parts[0] === NONE ? "none" : "quiet", turned };
}

/** The nodes that are folded. */
export function foldedNodes(
  { begin, turned }: Folds,
  quiet: ReadonlySet<number>,
  ids: readonly string[],
): Set<number> {
  const folded = new Set(begin === "quiet" ? quiet : []);
  if (turned.size === 0) return folded;
  ids.forEach((id, at) => {
    if (turned.has(id) && !folded.delete(at)) folded.add(at);
  });
  return folded;
}

/** The folds that are shown, and what changes them; the address follows, and leads. */
export function useFolds(nodes: readonly FlameNode[], quiet: ReadonlySet<number>) {
  const text = param("folded");
  const [folds, setFolds] = useState(() => readFolds(text));
  // More may be folded than the address says: what was written there is not read again.
  const known = useRef(text);
  useEffect(() => {
    if (text === known.current) return;
    known.current = text;
    setFolds(readFolds(text));
  }, [text]);
  const ids = useMemo(() => pathIds(nodes), [nodes]);
  const folded = useMemo(() => foldedNodes(folds, quiet, ids), [folds, quiet, ids]);
  const set = (next: Folds) => {
    setFolds(next);
    known.current = writeFolds(next);
    setParams({ folded: known.current }, { replace: true });
  };
  const toggle = (at: number) => {
    // What has nothing below it has nothing to fold.
    if (nodes[at + 1]?.parent !== at) return;
    const turned = new Set(folds.turned);
    if (!turned.delete(ids[at]!)) turned.add(ids[at]!);
    set({ ...folds, turned });
  };
  const begin = (from: Folds["begin"]) => set({ begin: from, turned: new Set() });
  return { folded, toggle, begin };
}
