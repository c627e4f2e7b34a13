/** The rail at the left: where one can go. It can be made small, which the browser keeps. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { RAIL } from "../pages";
import { Icon } from "../ui/icon";
import { href } from "./base";
import { isAt } from "./crumb";
import { focusMain } from "./focus";
import { keep, kept } from "./kept";
import { link, pageLink, path } from "./router";

const KEY = "kymo.rail";

export function Rail({ children }: { children: ComponentChildren }) {
  const isSmall = useSignal(kept(KEY) === "small" || window.innerWidth < 900);
  const toggle = () => {
    isSmall.value = !isSmall.value;
    keep(KEY, isSmall.value ? "small" : "large");
  };
  return (
    <div class={isSmall.value ? "frame rail-small" : "frame"}>
      {/* No link: with a prefix, `#main` would be a place on Home. */}
      <button type="button" class="skip button" onClick={focusMain}>
        To the content
      </button>
      <nav class="rail" aria-label="Pages">
        <a class="brand" href={href(link("/"))} aria-label="Kymograph, home">
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
            href={href(pageLink(to))}
            title={label}
            aria-current={isAt(to, path.value) ? "page" : undefined}
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
