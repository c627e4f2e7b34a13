/**
 * What a reader did in a panel: the order of a table, the series that are hidden. A panel that is out of sight
 * is not drawn, so that charts by the hundred need no memory; its frame remembers for it.
 */
import { createContext } from "preact";
import { useContext, useState } from "preact/hooks";

/** What a frame remembers of the panel in it, by name. */
export const Remembered = createContext<Map<string, unknown> | undefined>(undefined);

/** A state that is there again when the panel is drawn again, if its frame remembers. */
export function useRemembered<T>(name: string, initial: () => T): [T, (next: T) => void] {
  const known = useContext(Remembered);
  const [value, setValue] = useState<T>(() => (known?.has(name) ? (known.get(name) as T) : initial()));
  const set = (next: T) => {
    known?.set(name, next);
    setValue(() => next);
  };
  return [value, set];
}
