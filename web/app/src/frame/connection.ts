/** Whether the server answers. One that does not is looked for, ever more seldom, until it is back. */
import { batch, signal } from "@preact/signals";
import { href } from "./base";

/** Whether the server answers, and when it is asked next if it does not. */
export const connection = signal<{ lost: boolean; retryAt?: number }>({ lost: false });

/** How often it came back: what was asked before is asked again. */
export const returns = signal(0);

const FIRST_PAUSE_MILLIS = 1000;
const LONGEST_PAUSE_MILLIS = 15_000;
/** Who goes again so soon has not really come back, and is looked for ever more seldom still. */
const BACK_AFTER_MILLIS = 60_000;
const LOOK_MILLIS = 10_000;

let pause = FIRST_PAUSE_MILLIS;
let foundAt = 0;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Says that the server is gone, and looks for it until it is back. */
export function lost(): void {
  if (connection.peek().lost) return;
  if (Date.now() - foundAt > BACK_AFTER_MILLIS) pause = FIRST_PAUSE_MILLIS;
  wait();
}

/** Says that it is back. */
export function found(): void {
  if (!connection.peek().lost) return;
  clearTimeout(timer);
  foundAt = Date.now();
  batch(() => {
    connection.value = { lost: false };
    returns.value += 1;
  });
}

function wait(): void {
  connection.value = { lost: true, retryAt: Date.now() + pause };
  clearTimeout(timer);
  timer = setTimeout(() => void look(), pause);
  pause = Math.min(pause * 2, LONGEST_PAUSE_MILLIS);
}

/** Looks for the server now. */
export async function look(): Promise<void> {
  clearTimeout(timer);
  try {
    const response = await fetch(href("/ready"), {
      cache: "no-store",
      signal: AbortSignal.timeout(LOOK_MILLIS),
    });
    if (response.ok) return found();
  } catch {
    // Still gone.
  }
  // Something else may have been answered meanwhile.
  if (connection.peek().lost) wait();
}
