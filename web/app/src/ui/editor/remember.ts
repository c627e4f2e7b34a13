/** Answers of the server for completion, kept for a moment: typing must not ask for the same again. */
import { tenant } from "../../frame/router";
import { sitting } from "../../frame/token";

const KEPT_MILLIS = 30_000;
const MOST = 200;
const kept = new Map<string, { at: number; value: Promise<unknown> }>();

/** What `ask` answers, or what it answered lately. Failures are not kept; they count as `otherwise`. */
export async function remembered<T>(question: string, ask: () => Promise<T>, otherwise: T): Promise<T> {
  const now = Date.now();
  // What one was answered is not for who logs in next, nor of other data.
  const key = JSON.stringify([sitting.peek(), tenant.peek(), question]);
  let entry = kept.get(key);
  if (!entry || now - entry.at > KEPT_MILLIS) {
    entry = { at: now, value: ask() };
    if (kept.size >= MOST) kept.clear();
    kept.set(key, entry);
  }
  try {
    return (await entry.value) as T;
  } catch {
    kept.delete(key);
    return otherwise;
  }
}
