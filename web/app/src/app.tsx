/**
 * The frame around every page: rail, top bar, palette, help, what is said when the server is gone, and the
 * form where it wants to know who asks.
 */
import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { connection } from "./frame/api";
import { Boundary } from "./frame/boundary";
import { Help } from "./frame/help";
import { useKeys } from "./frame/keys";
import { LoginForm } from "./frame/login";
import { Palette } from "./frame/palette";
import { Rail } from "./frame/rail";
import { visit } from "./frame/recents";
import { navigate, path } from "./frame/router";
import { copyLink } from "./frame/share";
import { toggleTheme } from "./frame/theme";
import { liveMillis, refresh, setLive, shiftRange, widenRange } from "./frame/time";
import { isRefused, login, sitting } from "./frame/token";
import { Top } from "./frame/top";
import { type PageProps, RAIL, routeOf } from "./pages";
import { Icon } from "./ui/icon";
import { Empty, Skeleton } from "./ui/states";

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
    ...RAIL.map(({ path, label, key }) => ({ keys: `g ${key}`, label, run: () => navigate(path) })),
    { keys: "r", label: "Refresh", run: refresh },
    {
      keys: "p",
      label: "Pause or resume live mode",
      run: () => setLive(liveMillis.peek() > 0 ? undefined : "5s"),
    },
    { keys: "t ArrowLeft", label: "Earlier", run: () => shiftRange(-0.5) },
    { keys: "t ArrowRight", label: "Later", run: () => shiftRange(0.5) },
    { keys: "t z", label: "More time", run: widenRange },
    { keys: "y", label: "Copy a link to what is shown", run: () => copyLink() },
    { keys: "d", label: "Dark or light", run: toggleTheme },
  ]);
  useEffect(() => {
    const every = liveMillis.value;
    if (every === 0) return;
    const timer = setInterval(() => {
      if (!document.hidden && !connection.peek().lost && !isRefused()) refresh();
    }, every);
    return () => clearInterval(timer);
  }, [liveMillis.value]);
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
        {connection.value.lost && (
          <div class="banner" role="status">
            <Icon name="warning" /> The server does not answer. What is shown stays; it is looked for again
            and again.
          </div>
        )}
        {login.value && <LoginForm of={login.value} />}
        {/* What is behind the form stays as it is, for who only renews a token. */}
        <div class="outlet-page" hidden={login.value !== undefined}>
          <Outlet key={sitting.value} />
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
    </Rail>
  );
}

/** The page that the path names. */
function Outlet() {
  const at = path.value;
  const found = routeOf(at);
  const [loaded, setLoaded] = useState<{ path: string; Page?: ComponentType<PageProps>; error?: Error }>();
  const wanted = found?.route.path;
  useEffect(() => {
    if (!found) return;
    let isWanted = true;
    found.route.load().then(
      (module) => isWanted && setLoaded({ path: found.route.path, Page: module.default }),
      (error: Error) => isWanted && setLoaded({ path: found.route.path, error }),
    );
    return () => {
      isWanted = false;
    };
  }, [wanted]);
  useEffect(() => visit(at), [at]);
  if (!found) {
    return (
      <main class="page" id="main">
        <Empty title="There is no such page">
          <p>
            Nothing is at <code>{at}</code>. <a href="./">Home</a>
          </p>
        </Empty>
      </main>
    );
  }
  if (loaded?.path !== wanted)
    return (
      <main class="page" id="main">
        <Skeleton />
      </main>
    );
  if (loaded?.error || !loaded?.Page) {
    return (
      <main class="page" id="main">
        <Empty title="This page could not be loaded">
          <p>{loaded?.error?.message}</p>
          <button type="button" class="button" onClick={() => window.location.reload()}>
            Load again
          </button>
        </Empty>
      </main>
    );
  }
  return (
    <Boundary key={at}>
      <loaded.Page params={found.params} />
    </Boundary>
  );
}
