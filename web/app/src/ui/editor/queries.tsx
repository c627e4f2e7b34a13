/**
 * Queries of a language that were run or kept by this browser: a menu, and `[` and `]` to walk through those
 * that were run.
 */
import { useState } from "preact/hooks";
import { useKeys } from "../../frame/keys";
import { queries, ran } from "../../frame/recents";
import { refresh } from "../../frame/time";
import { Button } from "../button";
import { Icon } from "../icon";
import { Popover } from "../popover";

interface QueryMenuProps {
  language: string;
  /** What would be kept. */
  current: string;
  onPick: (query: string) => void;
}

/** The name of what is kept, in the list of queries of the browser. */
const kept = (language: string) => `${language}.kept`;

export function QueryMenu({ language, current, onPick }: QueryMenuProps) {
  return (
    <Popover label="Queries that were run or kept" button={<Icon name="clock" />} align="right">
      {(close) => (
        <QueryList
          language={language}
          current={current}
          onPick={(query) => {
            close();
            onPick(query);
          }}
        />
      )}
    </Popover>
  );
}

function QueryList({ language, current, onPick }: QueryMenuProps) {
  const [turn, setTurn] = useState(0);
  const lists = [
    ["Kept", queries(kept(language))],
    ["Run lately", queries(language)],
  ] as const;
  const keep = () => {
    ran(kept(language), current);
    setTurn(turn + 1);
  };
  return (
    <div class="query-menu">
      <Button icon="star" onClick={keep} disabled={current.trim() === ""}>
        Keep this query
      </Button>
      {lists.map(([title, list]) =>
        list.length === 0 ? null : (
          <section key={title}>
            <h3>{title}</h3>
            {list.map((query) => (
              <button
                key={query}
                type="button"
                class="menu-item mono"
                title={query}
                onClick={() => onPick(query)}
              >
                <span class="ellipsis">{query}</span>
              </button>
            ))}
          </section>
        ),
      )}
      {lists.every(([, list]) => list.length === 0) && (
        <p class="muted">Queries that are run are listed here.</p>
      )}
    </div>
  );
}

/** Binds `[` and `]` to the queries that were run before and after the one that is shown. */
export function useQueryKeys(
  scope: string,
  language: string,
  current: string,
  go: (query: string) => void,
): void {
  const step = (by: number) => {
    const list = queries(language);
    const at = list.indexOf(current);
    const next = list[at < 0 ? 0 : Math.max(0, Math.min(list.length - 1, at + by))];
    if (next !== undefined && next !== current) go(next);
  };
  useKeys(
    scope,
    [
      // In an editor that is its own; elsewhere the query that is shown is asked again.
      { keys: "ctrl+Enter", label: "Run the query", run: refresh },
      { keys: "[", label: "Earlier query", run: () => step(1) },
      { keys: "]", label: "Later query", run: () => step(-1) },
    ],
    [current, go],
  );
}
