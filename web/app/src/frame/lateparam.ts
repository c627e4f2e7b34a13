/**
 * A parameter that changes with each letter that is typed, or each step of a slider: what somebody enters is
 * shown at once, the address has it a moment later. Each address draws the page anew, and browsers take only so
 * many of them.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { type Params, param, setParams } from "./router";

const LATE_MILLIS = 300;

/** The parameter, and what changes it; `also` is written with it. */
export function useLateParam(name: string, also: Params = {}): [string, (value: string) => void] {
  const told = param(name) ?? "";
  // What was entered, and over which value: what the address says otherwise meanwhile, holds.
  const [entered, setEntered] = useState<{ value: string; over: string }>();
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const enter = (value: string) => {
    const over = param(name) ?? "";
    setEntered({ value, over });
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      setEntered(undefined);
      if ((param(name) ?? "") === over) setParams({ ...also, [name]: value || undefined }, { replace: true });
    }, LATE_MILLIS);
  };
  return [entered?.over === told ? entered.value : told, enter];
}
