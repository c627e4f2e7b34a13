/** Passing on what is shown: its address as it is, with its time frozen, or short; and pins on Home. */
import { useState } from "preact/hooks";
import { copyText } from "../ui/button";
import { Icon } from "../ui/icon";
import { Popover } from "../ui/popover";
import { sendJson } from "./api";
import { href } from "./base";
import { isPinned, togglePin } from "./recents";
import { link, place } from "./router";
import { range } from "./time";

export function SharePicker() {
  return (
    <Popover label="Share" align="right" kind="quiet" button={<Icon name="share" />}>
      {(close) => <ShareMenu close={close} />}
    </Popover>
  );
}

function ShareMenu({ close }: { close: () => void }) {
  const [failed, setFailed] = useState("");
  const here = pathShown();
  const short = () => {
    setFailed("");
    copyShortLink().then(close, (error: Error) => setFailed(error.message));
  };
  const items: [string, () => void][] = [
    ["Copy link, time as written", () => copyLink()],
    ["Copy link, time frozen", () => copyLink(true)],
    [isPinned(here) ? "Unpin from Home" : "Pin to Home", () => togglePin(here)],
  ];
  return (
    <div>
      {items.map(([label, run]) => (
        <button
          key={label}
          type="button"
          class="menu-item"
          onClick={() => {
            run();
            close();
          }}
        >
          {label}
        </button>
      ))}
      <button type="button" class="menu-item" onClick={short}>
        Copy short link, time frozen
      </button>
      {failed !== "" && (
        <p class="bad" role="alert">
          {failed}
        </p>
      )}
    </div>
  );
}

/** The path of what is shown, with its parameters; `frozen` with the time that it is about now. */
function pathShown(frozen = false): string {
  const query = new URLSearchParams(place.peek().query);
  if (frozen) {
    query.set("from", String(Math.round(range.peek().from)));
    query.set("to", String(Math.round(range.peek().to)));
    query.delete("refresh");
  }
  return link(place.peek().path, {}) + (query.size > 0 ? `?${query}` : "");
}

/** Copies the address of what is shown. */
export function copyLink(frozen = false): void {
  void copyText(window.location.origin + href(pathShown(frozen)));
}

/** Has the server keep the address under a code, and copies that of the code. */
async function copyShortLink(): Promise<void> {
  const { code } = await sendJson<{ code: string }>("POST", "/api/links", { path: pathShown(true) });
  const tenant = place.peek().query.get("tenant") ?? undefined;
  await copyText(window.location.origin + href(link(`/s/${code}`, { tenant })));
}
