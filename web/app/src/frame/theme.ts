/** Dark and light: as the system has it, until somebody chooses. The choice is kept by the browser. */
import { computed, effect, signal } from "@preact/signals";
import { keep, kept } from "./kept";

export type Theme = "dark" | "light";

const KEY = "kymo.theme";
const dark = window.matchMedia("(prefers-color-scheme: dark)");

function chosen(): Theme | undefined {
  const value = kept(KEY);
  return value === "dark" || value === "light" ? value : undefined;
}

const choice = signal<Theme | undefined>(chosen());
const system = signal<Theme>(dark.matches ? "dark" : "light");
dark.addEventListener("change", () => {
  system.value = dark.matches ? "dark" : "light";
});

/** What is shown. What draws on a canvas depends on it. */
export const theme = computed<Theme>(() => choice.value ?? system.value);

effect(() => {
  document.documentElement.dataset.theme = theme.value;
});

/** The other one, from now on. */
export function toggleTheme(): void {
  choice.value = theme.value === "dark" ? "light" : "dark";
  keep(KEY, choice.value);
}

/** A colour of the style sheet, for canvases: `token("--text")`. */
export function token(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
