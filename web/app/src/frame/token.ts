/**
 * Who asks: a token that somebody typed in, where the browser has no other login. It is this tab's: loading
 * the page again keeps it, other tabs do not have it. `login` is set where the server wants one; the frame
 * then asks for it, and nothing else is asked until it is there.
 */
import { batch, signal } from "@preact/signals";
import { keep, kept } from "./kept";

const KEY = "kymo.token";

/** The token that is in use; empty if there is none. */
export const token = signal(kept(KEY, "tab") ?? "");

/** Why somebody is asked to log in, and how that can be done. */
export interface Login {
  /** Nobody is known, the token is not taken any more, or somebody wants to use another one. */
  why: "needed" | "refused" | "chosen";
  takesTokens: boolean;
  /** The browser asks for a name and a password by itself. */
  takesPasswords: boolean;
}

/** Whether somebody is asked to log in. */
export const login = signal<Login | undefined>(undefined);

/** How often somebody came or went: what is shown for one is not for the next, and is made anew. */
export const sitting = signal(0);

/** Whether the server has answered who has the token, or who needs none. */
export const isTaken = signal(false);

/** The server has answered something. */
export function taken(): void {
  isTaken.value = true;
}

/** Whether the server would refuse whatever is asked now. */
export function isRefused(): boolean {
  return login.value !== undefined && login.value.why !== "chosen";
}

/** The server refused: `challenges` is what it says of how to log in. */
export function refused(challenges: string | null): void {
  const takesPasswords = /\bbasic\b/i.test(challenges ?? "");
  const takesTokens = !takesPasswords || /\bbearer\b/i.test(challenges ?? "");
  // A token that is not taken would only be refused again when the page is loaded again.
  keep(KEY, null, "tab");
  login.value = { why: token.peek() === "" ? "needed" : "refused", takesTokens, takesPasswords };
}

/** Asks for a token, because somebody wants to use another one. */
export function chooseToken(): void {
  login.value = { why: "chosen", takesTokens: true, takesPasswords: false };
}

/**
 * Uses a token from now on. One that follows another that ran out goes on with what is shown, so that
 * nothing is lost of what somebody was writing.
 */
export function enter(text: string): void {
  const goesOn = login.peek()?.why === "refused" && isTaken.peek() && text !== token.peek();
  keep(KEY, text, "tab");
  change(text);
  if (!goesOn) sitting.value += 1;
}

/** Forgets the token, or asks the server again without one. */
export function logOut(): void {
  keep(KEY, null, "tab");
  change("");
  sitting.value += 1;
}

function change(text: string): void {
  batch(() => {
    isTaken.value = false;
    token.value = text;
    login.value = undefined;
  });
}

/** The token in what was typed: people copy it with the word that stands before it in headers. */
export function typedToken(text: string): string {
  return text.trim().replace(/^bearer\s+/i, "");
}

/** Whether a header can carry it. */
export function isSendable(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text);
}
