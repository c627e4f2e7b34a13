/**
 * Text that somebody wrote: markdown or HTML, cleaned of everything that could act. Values that were put
 * into it are no markup. What makes and cleans it is loaded when a text is first shown.
 */
import { useEffect, useState } from "preact/hooks";
import { option } from "./frame";
import type { PanelProps } from "./kinds";
import { linkOf } from "./links";
import { fillIn, heldBack, plainly } from "./values";

export function TextPanel({ panel }: PanelProps) {
  return (
    <Marked text={option(panel.options, "content", "")} mode={option(panel.options, "mode", "markdown")} />
  );
}

export function Marked({ text, mode }: { text: string; mode: string }) {
  const [html, setHtml] = useState<string | undefined>(undefined);
  useEffect(() => {
    if (mode === "code") return;
    let isWanted = true;
    clean(text, mode).then(
      (made) => isWanted && setHtml(made),
      () => isWanted && setHtml(undefined),
    );
    return () => {
      isWanted = false;
    };
  }, [text, mode]);
  if (mode === "code" || html === undefined) return <pre class="text-panel">{plainly(text)}</pre>;
  // DOMPurify has cleaned it.
  return <div class="text-panel" dangerouslySetInnerHTML={{ __html: html }} />;
}

async function clean(text: string, mode: string): Promise<string> {
  const [{ default: purify }, { marked }] = await Promise.all([import("dompurify"), import("marked")]);
  const held = heldBack(text);
  const html = mode === "html" ? held.text : await marked.parse(held.text, { gfm: true, breaks: true });
  // Values are in their places before it is cleaned: addresses are judged with them.
  const made = new DOMParser().parseFromString(html, "text/html").body;
  fillIn(made, held.filled);
  const cleaned = purify.sanitize(made, {
    FORBID_TAGS: ["style", "form", "input", "button", "textarea", "select", "iframe", "object", "embed"],
    // Classes and names of the page's own would let a text look like a part of it, or lie over it.
    FORBID_ATTR: ["style", "srcset", "class", "id", "name", "background", "poster"],
    RETURN_DOM_FRAGMENT: true,
  });
  for (const anchor of cleaned.querySelectorAll("a")) {
    const url = anchor.getAttribute("href") ?? anchor.getAttribute("xlink:href") ?? "";
    const link = linkOf({ title: "", url });
    anchor.removeAttribute("xlink:href");
    if (link) anchor.setAttribute("href", link.href);
    else anchor.removeAttribute("href");
    // By attributes: those of links in drawings are no texts that could be set.
    if (link?.isOutside) {
      anchor.setAttribute("target", "_blank");
      anchor.setAttribute("rel", "noopener noreferrer");
    }
  }
  for (const image of cleaned.querySelectorAll("img")) {
    if (!image.hasAttribute("alt")) image.alt = "";
    // Pictures from elsewhere would tell others who reads this.
    if (isElsewhere(image.getAttribute("src"))) image.replaceWith(image.alt);
  }
  for (const other of cleaned.querySelectorAll("audio, video, source, track, image, use"))
    if (SOURCES.some((name) => isElsewhere(other.getAttribute(name)))) other.remove();
  const holder = document.createElement("div");
  holder.append(cleaned);
  return holder.innerHTML;
}

const SOURCES = ["src", "href", "xlink:href"];

function isElsewhere(address: string | null): boolean {
  return /^\s*([a-z]+:)?[\\/]{2}/i.test(address ?? "");
}
