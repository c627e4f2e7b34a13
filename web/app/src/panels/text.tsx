/**
 * Text that somebody wrote: markdown or HTML, cleaned of everything that could act. What makes and cleans
 * it is loaded when a text is first shown.
 */
import { useEffect, useState } from "preact/hooks";
import { option } from "./frame";
import type { PanelProps } from "./kinds";
import { safeAddress } from "./links";

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
  if (mode === "code" || html === undefined) return <pre class="text-panel">{text}</pre>;
  // DOMPurify has cleaned it.
  return <div class="text-panel" dangerouslySetInnerHTML={{ __html: html }} />;
}

async function clean(text: string, mode: string): Promise<string> {
  const [{ default: purify }, { marked }] = await Promise.all([import("dompurify"), import("marked")]);
  const html = mode === "html" ? text : await marked.parse(text, { gfm: true, breaks: true });
  const cleaned = purify.sanitize(html, {
    FORBID_TAGS: ["style", "form", "input", "button", "textarea", "select", "iframe", "object", "embed"],
    FORBID_ATTR: ["style", "srcset"],
    RETURN_DOM_FRAGMENT: true,
  });
  for (const anchor of cleaned.querySelectorAll("a")) {
    const address = safeAddress(anchor.getAttribute("href") ?? "");
    if (address === undefined) anchor.removeAttribute("href");
    else if (/^https?:/i.test(address)) {
      anchor.target = "_blank";
      anchor.rel = "noopener noreferrer";
    }
  }
  for (const image of cleaned.querySelectorAll("img")) {
    if (!image.hasAttribute("alt")) image.alt = "";
    // Pictures from elsewhere would tell others who reads this.
    if (/^(https?:)?\/\//i.test(image.getAttribute("src") ?? "")) image.replaceWith(image.alt);
  }
  const holder = document.createElement("div");
  holder.append(cleaned);
  return holder.innerHTML;
}
