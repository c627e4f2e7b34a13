/**
 * A question that is asked again a few seconds after it was answered, while its page is shown. A server that
 * is slow is not asked anew before it has answered: that would call off every answer.
 */
import { useEverySeen } from "../../frame/seen";
import { refreshes } from "../../frame/time";
import { type Asked, useAsk } from "../../frame/useask";

export function useEvery<T>(
  seconds: number,
  question: (signal: AbortSignal) => Promise<T>,
  about: readonly unknown[] = [],
): Asked<T> {
  const asked = useAsk(question, [...about, refreshes.value]);
  useEverySeen(asked.loading ? 0 : seconds * 1000, asked.again);
  // What is asked again by itself is not dimmed every time.
  return { ...asked, loading: asked.loading && asked.data === undefined };
}
