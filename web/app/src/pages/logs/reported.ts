/** What goes wrong with a question, told to the page: what is wrong with a query is shown where it is written. */
import { useEffect } from "preact/hooks";

export function useReported(error: Error | undefined, onError: (error?: Error) => void): void {
  useEffect(() => {
    onError(error);
    return () => onError(undefined);
  }, [error]);
}
