/** The bar at the top: search, time range, live mode, sharing, theme, who looks at whose data, help. */
import { useState } from "preact/hooks";
import { Button } from "../ui/button";
import { TextField } from "../ui/field";
import { Icon } from "../ui/icon";
import { Popover } from "../ui/popover";
import { Crumb } from "./crumb";
import { param } from "./router";
import { SharePicker } from "./share";
import { theme, toggleTheme } from "./theme";
import {
  addressTime,
  liveMillis,
  parseTime,
  quickRanges,
  rangeLabel,
  rangeText,
  refresh,
  setLive,
  setRange,
  typedTime,
} from "./time";
import { timeRules } from "./timerules";
import { logOut, token } from "./token";
import { Whose } from "./whose";

const LIVE = ["1s", "5s", "15s", "1m", "5m"] as const;

export function Top({ onSearch, onHelp }: { onSearch: () => void; onHelp: () => void }) {
  return (
    <header class="top">
      <Crumb />
      <button type="button" class="top-search" onClick={onSearch} aria-label="Search, or paste a trace id">
        <Icon name="search" />
        <span class="ellipsis">Search, or paste a trace id</span>
        <kbd>/</kbd>
      </button>
      <div class="top-right">
        {!timeRules.value.isHidden && (
          <>
            <RangePicker />
            <LivePicker />
          </>
        )}
        <SharePicker />
        <Button
          kind="quiet"
          icon="theme"
          label={theme.value === "dark" ? "Light theme" : "Dark theme"}
          onClick={toggleTheme}
        />
        <Whose />
        {token.value !== "" && (
          <Button kind="quiet" icon="leave" label="Log out: forget the token" onClick={logOut} />
        )}
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
            {quickRanges.value.map(({ from, to, label }) => (
              <button
                key={`${from} ${to}`}
                type="button"
                class="menu-item"
                aria-pressed={rangeText.value.from === from && rangeText.value.to === to}
                onClick={() => {
                  setRange(from, to);
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
  const [from, setFrom] = useState(typedTime(rangeText.value.from));
  const [to, setTo] = useState(typedTime(rangeText.value.to));
  const wrong = wrongRange(from, to);
  const apply = () => {
    if (wrong) return;
    setRange(addressTime(from), addressTime(to));
    close();
  };
  return (
    <div class="stack">
      <TextField label="From" value={from} onChange={setFrom} onEnter={apply} width="170px" />
      <TextField label="To" value={to} onChange={setTo} onEnter={apply} width="170px" />
      {wrong ? (
        <p class="bad" role="alert">
          {wrong}
        </p>
      ) : (
        <p class="muted">
          now-6h, now/d, 2026-01-31 12:00, milliseconds
          {timeRules.value.zone && `; by the clock of ${timeRules.value.zone}`}
        </p>
      )}
      <Button kind="primary" onClick={apply} disabled={wrong !== undefined}>
        Apply
      </Button>
    </div>
  );
}

/** What is wrong with a range as it is typed. */
function wrongRange(from: string, to: string): string | undefined {
  const now = Date.now();
  const [start, end] = [parseTime(from, now), parseTime(to, now, true)];
  if (start === undefined || end === undefined) return `Not a time: ${start === undefined ? from : to}`;
  return start < end ? undefined : "It ends before it begins";
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
        button={<span class={isLive ? "good" : "muted"}>{isLive ? "● live" : "○ live"}</span>}
      >
        {(close) => (
          <div>
            {["off", ...(timeRules.value.refreshes ?? LIVE)].map((every) => (
              <button
                key={every}
                type="button"
                class="menu-item"
                aria-pressed={every === (isLive ? param("refresh") : "off")}
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
