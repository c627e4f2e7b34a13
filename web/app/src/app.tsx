/**
 * The frame around every page: rail, top bar, palette, help, what is said when the server is gone, and the
 * form where it wants to know who asks.
 */
import { useSignal } from "@preact/signals";
import { Banner } from "./frame/banner";
import { Help } from "./frame/help";
import { useKeys } from "./frame/keys";
import { useLive } from "./frame/live";
import { LoginForm } from "./frame/login";
import { Outlet } from "./frame/outlet";
import { Palette } from "./frame/palette";
import { Rail } from "./frame/rail";
import { navigate, pageLink, tenant } from "./frame/router";
import { Copied, copyLink } from "./frame/share";
import { toggleTheme } from "./frame/theme";
import { refresh, shiftRange, toggleLive, widenRange } from "./frame/time";
import { login, sitting } from "./frame/token";
import { Top } from "./frame/top";
import { RAIL } from "./pages";

export function App() {
  const isPaletteOpen = useSignal(false);
  const isHelpOpen = useSignal(false);
  useKeys("Everywhere", [
    {
      keys: "ctrl+k",
      label: "Search, go anywhere",
      whileTyping: true,
      run: () => {
        isPaletteOpen.value = true;
      },
    },
    {
      keys: "/",
      label: "Search, go anywhere",
      run: () => {
        isPaletteOpen.value = true;
      },
    },
    {
      keys: "?",
      label: "This list",
      run: () => {
        isHelpOpen.value = !isHelpOpen.value;
      },
    },
    ...RAIL.map(({ path, label, key }) => ({ keys: `g ${key}`, label, run: () => navigate(pageLink(path)) })),
    { keys: "r", label: "Refresh", run: refresh },
    { keys: "p", label: "Pause or resume live mode", run: toggleLive },
    { keys: "t ArrowLeft", label: "Earlier", run: () => shiftRange(-0.5) },
    { keys: "t ArrowRight", label: "Later", run: () => shiftRange(0.5) },
    { keys: "t z", label: "More time", run: widenRange },
    { keys: "y", label: "Copy a link to what is shown", run: () => copyLink() },
    { keys: "d", label: "Dark or light", run: toggleTheme },
  ]);
  useLive();
  return (
    <Rail>
      <Top
        onSearch={() => {
          isPaletteOpen.value = true;
        }}
        onHelp={() => {
          isHelpOpen.value = true;
        }}
      />
      <div class="outlet">
        <Banner />
        {login.value && <LoginForm of={login.value} />}
        {/* What is behind the form stays as it is, for who only renews a token. */}
        <div class="outlet-page" hidden={login.value !== undefined}>
          <Outlet key={`${sitting.value} ${tenant.value ?? ""}`} />
        </div>
      </div>
      {isPaletteOpen.value && (
        <Palette
          close={() => {
            isPaletteOpen.value = false;
          }}
        />
      )}
      {isHelpOpen.value && (
        <Help
          close={() => {
            isHelpOpen.value = false;
          }}
        />
      )}
      <Copied />
    </Rail>
  );
}
