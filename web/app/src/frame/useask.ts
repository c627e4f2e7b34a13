/**
 * A question that a component asks: again when what it is about changes or a refresh is due, with the
 * last answer kept while the next is on its way.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { connection } from "./api";
import { token } from "./token";

/** How a question stands. */
export interface Asked<T> {
  /** The newest answer, also while another is on its way or after one failed. */
  data?: T;
  error?: Error;
  loading: boolean;
  /** Asks again. */
  again: () => void;
}

/**
 * Asks `question` whenever one of `about` changes; `undefined` for the question asks nothing. The signal
 * that it gets is aborted when the answer is not wanted any more.
 */
export function useAsk<T>(
  question: ((signal: AbortSignal) => Promise<T>) | undefined,
  about: readonly unknown[],
): Asked<T> {
  const [state, setState] = useState<{ data?: T; error?: Error; loading: boolean }>({ loading: true });
  const [turn, setTurn] = useState(0);
  const newest = useRef(0);
  const isLost = connection.value.lost;
  useEffect(() => {
    if (!question) {
      setState({ loading: false });
      return;
    }
    const number = ++newest.current;
    const controller = new AbortController();
    setState((before) => ({ ...before, loading: true }));
    question(controller.signal).then(
      (data) => {
        if (number === newest.current) setState({ data, loading: false });
      },
      (error: Error) => {
        if (number !== newest.current || error.name === "AbortError") return;
        setState((before) => ({ data: before.data, error, loading: false }));
      },
    );
    return () => controller.abort();
    // A server that is back is asked again, and one that wanted to know who asks.
  }, [...about, turn, isLost, token.value]);
  return { ...state, again: () => setTurn((before) => before + 1) };
}
