/**
 * What the browser keeps for this page: of this tab, or of all of them. Some browsers refuse to keep
 * anything, or have no room left; the page works all the same, and forgets.
 */

type Where = "tab" | "browser";

function store(where: Where): Storage {
  // Naming it is what fails where it is refused.
  return where === "tab" ? sessionStorage : localStorage;
}

/** What was kept under a name; `null` if nothing was. */
export function kept(name: string, where: Where = "browser"): string | null {
  try {
    return store(where).getItem(name);
  } catch {
    return null;
  }
}

/** Keeps a text under a name; `null` forgets what was kept. */
export function keep(name: string, text: string | null, where: Where = "browser"): void {
  try {
    if (text === null) store(where).removeItem(name);
    else store(where).setItem(name, text);
  } catch {
    // It is shown until the page is left.
  }
}
