/** The table of units, which axes are written by: asked for until it is there. */
import { effect, untracked } from "@preact/signals";
import { returns } from "../../frame/connection";
import { token } from "../../frame/token";
import { loadUnits } from "../../ui/units";

/** Asks for it now, and again when the server is back or takes who asks. What it gives ends that. */
export function wantUnits(): () => void {
  return effect(() => {
    void returns.value;
    void token.value;
    // What came is not asked for again.
    untracked(() => void loadUnits());
  });
}
