/** A question that is asked again every few seconds while its page is shown. */
import { useEffect } from "preact/hooks";
import { refreshes } from "../../frame/time";
import { type Asked, useAsk } from "../../frame/useask";

export function useEvery<T>(
  seconds: number,
  question: (signal: AbortSignal) => Promise<T>,
  about: readonly unknown[] = [],
): Asked<T> {
  const asked = useAsk(question, [...about, refreshes.value]);
  const { again } = asked;
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) again();
    }, seconds * 1000);
    return () => clearInterval(timer);
  }, [seconds]);
  return asked;
}
