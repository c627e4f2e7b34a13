/**
 * What is shown where there is nothing to show yet, nothing at all, only a part, or an error. Skeletons come
 * after a moment, so that a quick answer does not flicker.
 */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ApiError } from "../frame/api";
import { chooseToken, token } from "../frame/token";
import type { Asked } from "../frame/useask";
import { Button } from "./button";
import { Icon } from "./icon";

const SKELETON_AFTER_MILLIS = 150;

/** Bars where text will be. */
export function Skeleton({ lines = 6 }: { lines?: number }) {
  const [isDue, setDue] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setDue(true), SKELETON_AFTER_MILLIS);
    return () => clearTimeout(timer);
  }, []);
  if (!isDue) return <div class="skeleton" aria-busy="true" />;
  return (
    <div class="skeleton" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, line) => (
        <div key={line} class="skeleton-line" style={{ width: `${90 - ((line * 37) % 50)}%` }} />
      ))}
    </div>
  );
}

/** Nothing: why, and what to do about it. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

/** What went wrong, and a way to try again, or as somebody who may. */
export function ErrorBox({ error, again }: { error: Error; again?: () => void }) {
  const isForbidden = error instanceof ApiError && error.status === 403;
  const status = error instanceof ApiError && error.status > 0 ? ` (${error.status})` : "";
  const { asked, requestId } = error instanceof ApiError ? error : {};
  return (
    <div class="notice notice-error" role="alert">
      <Icon name="error" />
      <div class="grow">
        <p class="notice-text">{error.message + status}</p>
        {asked && (
          <details class="notice-asked">
            <summary>What was asked{requestId && <span class="muted"> · request {requestId}</span>}</summary>
            <code>{asked}</code>
          </details>
        )}
      </div>
      {isForbidden && (
        <Button onClick={chooseToken}>
          {token.value === "" ? "Log in with a token" : "Log in with another token"}
        </Button>
      )}
      {again && <Button onClick={again}>Try again</Button>}
    </div>
  );
}

/** That something is not all there is, and what can be done. */
export function Warning({ children }: { children: ComponentChildren }) {
  return (
    <div class="notice notice-warning" role="status">
      <Icon name="warning" />
      <div class="grow">{children}</div>
    </div>
  );
}

/** The answer of a question, or how it stands. The last answer stays, dimmed, while the next is awaited. */
export function Answer<T>({
  of,
  children,
  lines,
}: {
  of: Asked<T>;
  children: (data: T) => ComponentChildren;
  lines?: number;
}) {
  return (
    <>
      {of.error && <ErrorBox error={of.error} again={of.again} />}
      {of.data === undefined ? (
        !of.error && <Skeleton lines={lines} />
      ) : (
        <div class={of.loading ? "answer dimmed" : "answer"}>{children(of.data)}</div>
      )}
    </>
  );
}
