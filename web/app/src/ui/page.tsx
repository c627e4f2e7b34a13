/** How a page is laid out: its head with title and what can be done, then parts. */
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { said } from "../frame/recents";
import { path } from "../frame/router";

/** A page. Its title is also that of the browser's tab. */
export function PageBody({
  title,
  actions,
  children,
  wide,
}: {
  title: string;
  actions?: ComponentChildren;
  children: ComponentChildren;
  /** Without margins, for what fills the window. */
  wide?: boolean;
}) {
  useEffect(() => {
    document.title = `${title} · Kymograph`;
    return said(title);
  }, [title, path.value]);
  return (
    <main class={wide ? "page page-wide" : "page"} id="main" tabIndex={-1}>
      <div class="page-head">
        <h1>{title}</h1>
        <div class="page-actions">{actions}</div>
      </div>
      {children}
    </main>
  );
}

/** A part of a page with a heading. */
export function Card({
  title,
  actions,
  children,
  class: name = "",
}: {
  title?: ComponentChildren;
  actions?: ComponentChildren;
  children: ComponentChildren;
  class?: string;
}) {
  return (
    <section class={`card ${name}`}>
      {(title || actions) && (
        <div class="card-head">
          <h2>{title}</h2>
          <div class="page-actions">{actions}</div>
        </div>
      )}
      {children}
    </section>
  );
}

/** A number with its name. */
export function Figure({
  label,
  value,
  hint,
  tone,
}: {
  label: string;
  value: ComponentChildren;
  hint?: ComponentChildren;
  tone?: "good" | "bad" | "warn";
}) {
  return (
    <div class={`figure ${tone ? `figure-${tone}` : ""}`}>
      <div class="figure-label">{label}</div>
      <div class="figure-value">{value}</div>
      {hint && <div class="figure-hint">{hint}</div>}
    </div>
  );
}
