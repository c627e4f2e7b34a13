// Markup and addresses that would act, and what a page must not do with them.
import assert from "node:assert/strict";

export const MARKUP = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>';
export const ACTS = "javascript:window.hacked=1";
/** Markup behind a word, by which it is found. */
export const evil = (word) => `${word} ${MARKUP}`;
/** How the markup begins where it is shown. */
const shown = (word) => `${word} <img src=x onerror=`;

/** What in the document, and in shadows of it, would act or come from elsewhere. */
export function foreign(page) {
  return page.evaluate(() => {
    const own = new URL("_a/", document.baseURI).href;
    const found = [];
    const says = (element, why) => found.push(`${why}: ${element.outerHTML.slice(0, 200)}`);
    const look = (root) => {
      for (const element of root.querySelectorAll("*")) {
        if (element.shadowRoot) look(element.shadowRoot);
        const name = element.localName;
        if (name === "script" && !element.src.startsWith(own)) says(element, "a script");
        if (["iframe", "object", "embed", "base"].includes(name) && element.parentNode !== document.head)
          says(element, "a frame");
        // Text that is meant to have markup may have pictures of this server.
        if (name === "img" && element.src !== "" && !element.closest(".text-panel"))
          says(element, "a picture");
        if ([...element.attributes].some((attribute) => /^on/i.test(attribute.name))) says(element, "an act");
        const leads = element.href?.baseVal ?? element.href ?? element.getAttribute("action");
        if (typeof leads !== "string" || leads === "" || name === "link") continue;
        if (!/^https?:$/.test(new URL(leads, document.baseURI).protocol))
          says(element, "an address that acts");
      }
    };
    look(document);
    return { found, hacked: window.hacked };
  });
}

/** Asserts that what is shown is harmless, and that the words are shown with their markup as text. */
export async function isText(page, words) {
  for (const word of words) {
    const text = page.getByText(shown(word)).filter({ visible: true });
    await text.first().waitFor();
  }
  assert.deepEqual(await foreign(page), { found: [], hacked: undefined });
}

/**
 * What a browser says of what the policy has kept from acting: there should be nothing to keep. What cleans the
 * texts of dashboards reads them in a document of its own, whose handlers are told of too.
 */
export const kept = (complaints, hasTexts = false) =>
  complaints
    .filter((text) => /Content Security Policy|^failed:/i.test(text))
    .filter((text) => !hasTexts || !text.startsWith("Executing inline event handler"));
