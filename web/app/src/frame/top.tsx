/** The bar at the top: search, time range, live mode, sharing, theme, help. */
import { useState } from "preact/hooks";
import { Button, copyText } from "../ui/button";
import { TextField } from "../ui/field";
import { Icon } from "../ui/icon";
import { Popover } from "../ui/popover";
import { href } from "./base";
import { link, place } from "./router";
import { theme, toggleTheme } from "./theme";
import {
  liveMillis,
  parseTime,
  QUICK,
  range,
  rangeLabel,
  rangeText,
  refresh,
  setLive,
  setRange,
} from "./time";

const LIVE = ["1s", "5s", "15s", "1m", "5m"] as const;

export function Top({ onSearch, onHelp }: { onSearch: () => void; onHelp: () => void }) {
  return (
    <header class="top">
      <button type="button" class="top-search" onClick={onSearch} aria-label="Search, or paste a trace id">
        <Icon name="search" />
        <span class="ellipsis">Search, or paste a trace id</span>
        <kbd>/</kbd>
      </button>
      <div class="top-right">
        <RangePicker />
        <LivePicker />
        <SharePicker />
        <Button
          kind="quiet"
          icon="theme"
          label={theme.value === "dark" ? "Light theme" : "Dark theme"}
          onClick={toggleTheme}
        />
        <Button kind="quiet" icon="info" label="Keyboard and help" onClick={onHelp} />
      </div>
    </header>
  );
}

function RangePicker() {
  return (
    <Popover
      label="Time range"
      align="right"
      button={
        <>
          <Icon name="clock" />
          <span>{rangeLabel(rangeText.value)}</span>
        </>
      }
    >
      {(close) => (
        <div class="range-grid">
          <RangeForm close={close} />
          <div class="range-quick">
            {QUICK.map(([from, label]) => (
              <button
                key={from}
                type="button"
                class="menu-item"
                aria-checked={rangeText.value.from === from}
                role="menuitemradio"
                onClick={() => {
                  setRange(from, "now");
                  close();
                }}
              >
                {label}
              </button>
            ))}
          </div>
        </div>
      )}
    </Popover>
  );
}

function RangeForm({ close }: { close: () => void }) {
  const [from, setFrom] = useState(rangeText.value.from);
  const [to, setTo] = useState(rangeText.value.to);
  const now = Date.now();
  const wrong = [from, to].filter((text) => parseTime(text, now) === undefined);
  const apply = () => {
    if (wrong.length > 0) return;
    setRange(from, to);
    close();
  };
  return (
    <div class="stack">
      <TextField label="From" value={from} onChange={setFrom} onEnter={apply} width="170px" />
      <TextField label="To" value={to} onChange={setTo} onEnter={apply} width="170px" />
      {wrong.length > 0 ? (
        <p class="bad">Not a time: {wrong.join(", ")}</p>
      ) : (
        <p class="muted">now-6h, now/d, 2026-01-31 12:00, milliseconds</p>
      )}
      <Button kind="primary" onClick={apply} disabled={wrong.length > 0}>
        Apply
      </Button>
    </div>
  );
}

function LivePicker() {
  const isLive = liveMillis.value > 0;
  return (
    <span class="row" style={{ gap: 0, flexWrap: "nowrap" }}>
      <Button kind="quiet" icon="refresh" label="Refresh" onClick={refresh} />
      <Popover
        label="Live mode"
        align="right"
        kind="quiet"
        button={
          <>
            <span class={isLive ? "good" : "muted"}>{isLive ? "● live" : "○ live"}</span>
          </>
        }
      >
        {(close) => (
          <div>
            {["off", ...LIVE].map((every) => (
              <button
                key={every}
                type="button"
                class="menu-item"
                onClick={() => {
                  setLive(every === "off" ? undefined : every);
                  close();
                }}
              >
                {every === "off" ? "Off" : `Every ${every}`}
              </button>
            ))}
          </div>
        )}
      </Popover>
    </span>
  );
}

function SharePicker() {
  return (
    <Popover label="Share" align="right" kind="quiet" button={<Icon name="share" />}>
      {(close) => (
        <div>
          <button
            type="button"
            class="menu-item"
            onClick={() => {
              copyLink();
              close();
            }}
          >
            Copy link, time as written
          </button>
          <button
            type="button"
            class="menu-item"
            onClick={() => {
              copyLink(true);
              close();
            }}
          >
            Copy link, time frozen
          </button>
        </div>
      )}
    </Popover>
  );
}

/** Copies the address of what is shown; `frozen` with the time that it is about now. */
export function copyLink(frozen = false): void {
  const query = new URLSearchParams(place.peek().query);
  if (frozen) {
    query.set("from", String(Math.round(range.peek().from)));
    query.set("to", String(Math.round(range.peek().to)));
    query.delete("refresh");
  }
  void copyText(
    window.location.origin + href(link(place.peek().path, {})) + (query.size > 0 ? `?${query}` : ""),
  );
}
