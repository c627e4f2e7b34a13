/** The keys that do something here. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { Button } from "../ui/button";
import { keepWithin } from "./focus";
import { bindings } from "./keys";

export function Help({ close }: { close: () => void }) {
  const dialog = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    dialog.current?.focus();
    return () => before?.focus();
  }, []);
  return (
    <div
      class="overlay"
      onPointerDown={(event) => event.target === event.currentTarget && close()}
      onKeyDown={(event) => {
        keepWithin(event, dialog.current!);
        if (event.key === "Escape") {
          event.preventDefault();
          close();
        }
      }}
    >
      <div class="dialog" role="dialog" aria-label="Keyboard" aria-modal="true" tabIndex={-1} ref={dialog}>
        <div class="dialog-head">
          <h1>Keyboard</h1>
          <div class="page-actions">
            <Button icon="close" kind="quiet" label="Close" onClick={close} />
          </div>
        </div>
        <div class="dialog-body help-columns">
          {bindings.value.map(({ scope, list }) => (
            <div class="help-scope" key={scope}>
              <h3>{scope}</h3>
              {list.map(({ keys, label }) => (
                <div class="help-row" key={keys + label}>
                  <span>{label}</span>
                  <span>
                    {keys.split(" ").map((key, at) => (
                      <kbd key={at}>{shown(key)}</kbd>
                    ))}
                  </span>
                </div>
              ))}
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}

const SIGNS: Record<string, string> = {
  ArrowLeft: "←",
  ArrowRight: "→",
  ArrowUp: "↑",
  ArrowDown: "↓",
  ctrl: "Ctrl",
  shift: "Shift",
};

/** A key as it is written on keyboards. */
function shown(key: string): string {
  return key
    .split(/(?<=.)\+(?=.)/)
    .map((part) => SIGNS[part] ?? part)
    .join(" ");
}
