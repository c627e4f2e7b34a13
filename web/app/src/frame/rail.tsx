/** The rail at the left: where one can go. It can be made small, which the browser keeps. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { RAIL } from "../pages";
import { Icon } from "../ui/icon";
import { href } from "./base";
import { link, param, path } from "./router";

const KEY = "kymo.rail";

export function Rail({ children }: { children: ComponentChildren }) {
  const isSmall = useSignal(localStorage.getItem(KEY) === "small" || window.innerWidth < 900);
  const toggle = () => {
    isSmall.value = !isSmall.value;
    localStorage.setItem(KEY, isSmall.value ? "small" : "large");
  };
  // The time that is looked at goes along from page to page.
  const carried = {
    from: param("from"),
    to: param("to"),
    refresh: param("refresh"),
    tenant: param("tenant"),
  };
  return (
    <div class={isSmall.value ? "frame rail-small" : "frame"}>
      <a class="skip" href="#main">
        To the content
      </a>
      <nav class="rail" aria-label="Pages">
        <a class="brand" href={href("/")} aria-label="Kymograph, home">
          <svg width="20" height="20" viewBox="0 0 32 32" aria-hidden="true">
            <path
              d="M3 19h6l2-9 4 16 4-20 3 13h7"
              fill="none"
              stroke="var(--brand)"
              stroke-width="3"
              stroke-linejoin="round"
            />
          </svg>
          <span class="rail-text">Kymograph</span>
        </a>
        {RAIL.map(({ path: to, label, icon }) => (
          <a
            key={to}
            class="rail-link"
            href={href(link(to, carried))}
            title={label}
            aria-current={isAt(to) ? "page" : undefined}
          >
            <Icon name={icon} />
            <span class="rail-text">{label}</span>
          </a>
        ))}
        <button
          type="button"
          class="button button-quiet button-icon rail-foot"
          aria-label={isSmall.value ? "Show labels" : "Hide labels"}
          onClick={toggle}
        >
          <Icon name={isSmall.value ? "right" : "left"} />
        </button>
      </nav>
      {children}
    </div>
  );
}

const BELOW: Record<string, readonly string[]> = {
  "/live": ["/session/", "/sessions/"],
  "/traces": ["/traces/", "/trace/", "/compare"],
  "/hosts": ["/host/", "/gpu"],
  "/dashboards": ["/dashboards/", "/d/"],
};

function isAt(to: string): boolean {
  const at = path.value;
  if (to === "/") return at === "/";
  return at === to || at.startsWith(`${to}/`) || (BELOW[to] ?? []).some((prefix) => at.startsWith(prefix));
}
