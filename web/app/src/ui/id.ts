/**
 * Ids of elements that others name, such as the field of a label. Preact's own `useId` gives the same id
 * twice where parts of the page are drawn at different times.
 */
import { useState } from "preact/hooks";

let made = 0;

/** An id that no other element has. */
export function useUniqueId(): string {
  const [id] = useState(() => {
    made += 1;
    return `id-${made}`;
  });
  return id;
}
