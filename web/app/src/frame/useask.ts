/**
 * A question that a component asks: again when what it is about changes or a refresh is due, with the
 * last answer kept while the next is on its way.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "./api";
import { returns } from "./connection";
import { token } from "./token";
import { underWay } from "./underway";

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
  useEffect(() => {
    // What was asked before is not wanted any more, also if nothing is asked now.
    const number = ++newest.current;
    if (!question) {
      setState({ loading: false });
      return;
    }
    const controller = new AbortController();
    const end = underWay();
    setState((before) => ({ ...before, loading: true }));
    question(controller.signal)
      .then(
        (data) => {
          if (number === newest.current) setState({ data, loading: false });
        },
        (error: Error) => {
          if (number !== newest.current || error.name === "AbortError") return;
          // That the server is gone is said by the frame; it is asked again when it is back.
          const isGone = error instanceof ApiError && error.status === 0;
          if (isGone) setState(({ data }) => ({ data, loading: data === undefined }));
          else setState(({ data }) => ({ data, error, loading: false }));
        },
      )
      .finally(end);
    return () => {
      controller.abort();
      end();
    };
    // A server that is back is asked again, and one that wanted to know who asks.
  }, [...about, turn, returns.value, token.value]);
  return { ...state, again: () => setTurn((before) => before + 1) };
}
