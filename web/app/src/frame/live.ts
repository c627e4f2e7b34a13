/**
 * Live mode: asks for new data every so often. It waits for what was asked before: where answers take longer
 * than the time between them, asking again would lose them all.
 */
import { useEverySeen } from "./seen";
import { liveMillis, refresh } from "./time";
import { isAsking } from "./underway";

export function useLive(): void {
  useEverySeen(liveMillis.value, () => {
    if (!isAsking()) refresh();
  });
}
