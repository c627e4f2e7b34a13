/** Questions that are under way, of all kinds: live mode waits for their answers. */

let count = 0;

/** Whether anything that was asked waits for its answer, or for the rest of it. */
export function isAsking(): boolean {
  return count > 0;
}

/** A question is under way, until what is returned is called. */
export function underWay(): () => void {
  let isOver = false;
  count += 1;
  return () => {
    if (!isOver) count -= 1;
    isOver = true;
  };
}
