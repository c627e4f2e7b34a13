/**
 * The palette: pages, what was looked at lately, things of the data by their names, a trace by its id, a search
 * by what was typed.
 */
import uFuzzy from "@leeoniya/ufuzzy";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { RAIL } from "../pages";
import { Icon, type IconName } from "../ui/icon";
import { keepWithin } from "./focus";
import { recents } from "./recents";
import { link, navigate, type Params, pageLink } from "./router";
import { toggleTheme } from "./theme";
import { findThings, type Thing } from "./things";
import { chooseToken, logOut, token } from "./token";

interface Choice {
  label: string;
  hint: string;
  icon: IconName;
  run: () => void;
}

const MOST = 12;
const fuzzy = new uFuzzy({ intraMode: 1 });

export function Palette({ close }: { close: () => void }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const [things, setThings] = useState<readonly Thing[]>([]);
  const input = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLDivElement>(null);
  // At once: letters follow the key that opened it.
  useLayoutEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    input.current?.focus();
    const stop = findThings((more) => setThings((known) => [...known, ...more]));
    return () => {
      stop();
      before?.focus();
    };
  }, []);
  useEffect(() => {
    list.current?.children[at]?.scrollIntoView({ block: "nearest" });
  }, [at]);
  const choices = useMemo(() => found(text, things), [text, things, recents.value]);
  const pick = (choice: Choice | undefined) => {
    if (!choice) return;
    close();
    choice.run();
  };
  const keys = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (event.key === "Escape") close();
    else if (event.key === "Enter") pick(choices[at]);
    else if (step !== 0) setAt((at + step + choices.length) % Math.max(1, choices.length));
    else return;
    event.preventDefault();
  };
  return (
    <div class="overlay" onPointerDown={(event) => event.target === event.currentTarget && close()}>
      <div
        class="dialog"
        role="dialog"
        aria-label="Search"
        aria-modal="true"
        onKeyDown={(event) => keepWithin(event, event.currentTarget)}
      >
        <input
          ref={input}
          class="palette-input"
          aria-label="Search, or paste a trace id"
          role="combobox"
          aria-expanded="true"
          aria-autocomplete="list"
          aria-controls="palette-list"
          aria-activedescendant={choices[at] ? `palette-${at}` : undefined}
          placeholder="A page, a dashboard, a session, a host, a trace id, TraceQL in braces…"
          value={text}
          spellcheck={false}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setAt(0);
          }}
          onKeyDown={keys}
        />
        <div class="palette-list" id="palette-list" role="listbox" aria-label="Found" ref={list}>
          {choices.map((choice, index) => (
            <div
              // Two traces may have the same name.
              key={index}
              id={`palette-${index}`}
              class="palette-item"
              role="option"
              tabIndex={-1}
              aria-selected={index === at}
              onPointerMove={() => setAt(index)}
              onClick={() => pick(choice)}
            >
              <Icon name={choice.icon} />
              <span class="ellipsis">{choice.label}</span>
              <span class="palette-hint">{choice.hint}</span>
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}

export function found(text: string, things: readonly Thing[]): readonly Choice[] {
  const typed = text.trim();
  const go = (to: string) => () => navigate(to);
  const goOn = (to: string, params?: Params) => () => navigate(pageLink(to, params));
  const fixed: Choice[] = [
    ...recents.value.map(({ path, title }) => ({
      label: title,
      hint: "recent",
      icon: "clock" as const,
      run: go(path),
    })),
    ...RAIL.map(({ path, label, icon, key }) => ({ label, hint: `g ${key}`, icon, run: goOn(path) })),
    ...things.map(({ path, params, ...rest }) => ({ ...rest, run: go(link(path, params)) })),
    { label: "SQL", hint: "explore", icon: "columns", run: goOn("/explore/sql") },
    { label: "Flame of all traces", hint: "page", icon: "traces", run: goOn("/traces/flame") },
    { label: "Compare two traces", hint: "page", icon: "compare", run: go("/compare") },
    { label: "GPUs", hint: "page", icon: "hosts", run: goOn("/gpu") },
    { label: "Alerts", hint: "page", icon: "warning", run: goOn("/alerts") },
    { label: "Targets that are scraped", hint: "page", icon: "hosts", run: goOn("/targets") },
    { label: "Import a dashboard", hint: "page", icon: "upload", run: go("/dashboards/import") },
    { label: "Dark or light", hint: "d", icon: "theme", run: toggleTheme },
    ...(token.value === ""
      ? []
      : [
          { label: "Log out", hint: "token", icon: "leave" as const, run: logOut },
          { label: "Log in with another token", hint: "token", icon: "leave" as const, run: chooseToken },
        ]),
  ];
  if (typed === "") return fixed.slice(0, MOST);
  const direct: Choice[] = [];
  if (/^[0-9a-fA-F]{1,32}$/.test(typed) && typed.length >= 8) {
    direct.push({
      label: `Trace ${typed}`,
      hint: "open",
      icon: "traces",
      run: go(`/trace/${typed.toLowerCase()}`),
    });
  }
  if (typed.startsWith("{")) {
    direct.push({
      label: `Search traces: ${typed}`,
      hint: "TraceQL",
      icon: "traces",
      run: goOn("/traces", { q: typed }),
    });
    direct.push({
      label: `Search logs: ${typed}`,
      hint: "LogQL",
      icon: "logs",
      run: goOn("/explore/logs", { q: typed }),
    });
  }
  const order = fuzzy.search(
    fixed.map(({ label }) => label),
    typed,
  );
  const indexes = order[2] && order[1] ? order[2].map((at) => order[1]!.idx[at]!) : (order[0] ?? []);
  const matching = indexes.map((index) => fixed[index]!);
  const words: Choice[] = [
    {
      label: `Logs with “${typed}”`,
      hint: "search",
      icon: "logs",
      run: goOn("/explore/logs", { text: typed }),
    },
    {
      label: `Metrics like “${typed}”`,
      hint: "search",
      icon: "metrics",
      run: goOn("/explore/metrics", { find: typed }),
    },
  ];
  return [...direct, ...matching, ...(typed.startsWith("{") ? [] : words)].slice(0, MOST);
}
