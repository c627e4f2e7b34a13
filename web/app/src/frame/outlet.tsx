/** The page that the path names, once its chunk has come. */
import type { ComponentType } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { type PageProps, routeOf } from "../pages";
import { Button } from "../ui/button";
import { PageBody } from "../ui/page";
import { Empty, Skeleton } from "../ui/states";
import { href } from "./base";
import { Boundary } from "./boundary";
import { focusMain, isFocusLost } from "./focus";
import { link, path } from "./router";

interface Loaded {
  key: string;
  Page?: ComponentType<PageProps>;
  error?: Error;
}

export function Outlet() {
  const at = path.value;
  const found = routeOf(at);
  const [loaded, setLoaded] = useState<Loaded>();
  const key = found ? (found.route.key ?? found.route.path) : "";
  useEffect(() => {
    if (!found) return;
    let isWanted = true;
    found.route.load().then(
      (module) => isWanted && setLoaded({ key, Page: module.default }),
      (error: Error) => isWanted && setLoaded({ key, error }),
    );
    return () => {
      isWanted = false;
    };
  }, [key]);
  const isThere = !found || loaded?.key === key;
  useArrival(at, isThere);
  if (!found) {
    return (
      <PageBody title="There is no such page">
        <Empty title="Nothing is here">
          <p>
            No page is at <code>{at}</code>. <a href={href(link("/"))}>Home</a>
          </p>
        </Empty>
      </PageBody>
    );
  }
  if (!isThere)
    return (
      <main class="page" id="main" tabIndex={-1}>
        <Skeleton />
      </main>
    );
  if (!loaded?.Page) {
    return (
      <PageBody title="This page could not be loaded">
        <Empty title="A part of the page is missing: the server may have been updated">
          <p>{loaded?.error?.message}</p>
          <Button onClick={() => window.location.reload()}>Load again</Button>
        </Empty>
      </PageBody>
    );
  }
  return (
    <Boundary key={found.route.key ?? at} of={at}>
      <loaded.Page params={found.params} />
    </Boundary>
  );
}

/** Another page begins at its top, and has the focus if the link that led there is gone. */
function useArrival(at: string, isThere: boolean): void {
  const before = useRef<string | undefined>(undefined);
  useEffect(() => {
    if (!isThere || before.current === at) return;
    const isFirst = before.current === undefined;
    before.current = at;
    if (isFirst) return;
    document.querySelector(".outlet")?.scrollTo(0, 0);
    if (isFocusLost()) focusMain();
  }, [at, isThere]);
}
