/** Passing on what is shown: its address as it is, with its time frozen, or short; and pins on Home. */
import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { Button, copyText } from "../ui/button";
import { Icon } from "../ui/icon";
import { Popover } from "../ui/popover";
import { sendJson } from "./api";
import { href } from "./base";
import { isPinned, togglePin } from "./recents";
import { link, place } from "./router";
import { liveOff, range } from "./time";

export function SharePicker() {
  return (
    <Popover label="Share" align="right" kind="quiet" button={<Icon name="share" />}>
      {(close) => <ShareMenu close={close} />}
    </Popover>
  );
}

function ShareMenu({ close }: { close: () => void }) {
  const [failed, setFailed] = useState("");
  const [isBusy, setBusy] = useState(false);
  const here = pathShown();
  const short = () => {
    // It is not disabled, which would lose the focus.
    if (isBusy) return;
    setFailed("");
    setBusy(true);
    copyShortLink().then(close, (error: Error) => {
      setFailed(error.message);
      setBusy(false);
    });
  };
  const items: [string, () => void][] = [
    ["Copy link, time as written", () => copyLink()],
    ["Copy link, time frozen", () => copyLink(true)],
    [isPinned(here) ? "Unpin from Home" : "Pin to Home", () => togglePin(here)],
  ];
  return (
    <div class="share-menu">
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
    const off = liveOff();
    if (off !== undefined) query.set("refresh", off);
  }
  return place.peek().path + (query.size > 0 ? `?${query}` : "");
}

/** Copies the address of what is shown. */
export function copyLink(frozen = false): void {
  void copyAddress(pathShown(frozen));
}

/** What is said of the last link that was copied. */
const told = signal<{ text: string; address?: string } | undefined>(undefined);

async function copyAddress(path: string): Promise<void> {
  const address = window.location.origin + href(path);
  const isDone = await copyText(address);
  told.value = isDone
    ? { text: "The link is copied." }
    : { text: "The browser does not let this page copy:", address };
}

const TOLD_MILLIS = 2500;

/** That a link was copied, for a moment; or the link, where that failed. */
export function Copied() {
  const now = told.value;
  useEffect(() => {
    if (!now || now.address) return;
    const timer = setTimeout(() => {
      told.value = undefined;
    }, TOLD_MILLIS);
    return () => clearTimeout(timer);
  }, [now]);
  return (
    <div class="copied" role="status">
      {now && (
        <p class="copied-note">
          {now.text}
          {now.address && (
            <>
              {" "}
              <code>{now.address}</code>
              <Button
                kind="quiet"
                icon="close"
                label="Close"
                onClick={() => {
                  told.value = undefined;
                }}
              />
            </>
          )}
        </p>
      )}
    </div>
  );
}

/** Has the server keep the address under a code, and copies that of the code. */
async function copyShortLink(): Promise<void> {
  const { code } = await sendJson<{ code: string }>("POST", "/api/links", { path: pathShown(true) });
  await copyAddress(link(`/s/${code}`));
}
