/**
 * Live mode: asks for new data every so often, while somebody looks and somebody answers. It waits for what
 * was asked before: where answers take longer than the time between them, asking again would lose them all.
 */
import { useEffect } from "preact/hooks";
import { connection } from "./connection";
import { liveMillis, refresh } from "./time";
import { isRefused } from "./token";
import { isAsking } from "./useask";

export function useLive(): void {
  const every = liveMillis.value;
  useEffect(() => {
    if (every === 0) return;
    let isDue = false;
    const ask = () => {
      isDue = document.hidden;
      if (!isDue && !connection.peek().lost && !isRefused() && !isAsking()) refresh();
    };
    const seen = () => isDue && ask();
    const timer = setInterval(ask, every);
    document.addEventListener("visibilitychange", seen);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", seen);
    };
  }, [every]);
}
