/**
 * Values within a text of markdown or HTML, which the server puts between two marks. They are no markup: words
 * stand in their places while the text is read, and in what was made of it the values are texts again.
 */

/** As the server has them. */
const MARKED = /\ue000([^\ue000\ue001]*)\ue001/g;

interface Held {
  /** The text, with a word for each value. */
  text: string;
  /** What stands for a value by what is written now. */
  filled: (made: string) => string;
}

/** Puts words that mean nothing, and that the text has not, in the places of its values. */
export function heldBack(written: string): Held {
  const values: string[] = [];
  let word = "value";
  while (written.includes(word)) word += "x";
  const text = written.replace(MARKED, (_, value: string) => {
    values.push(value);
    return `${word}${values.length - 1}z`;
  });
  const words = new RegExp(`${word}(\\d+)z`, "gi");
  return { text, filled: (made) => made.replace(words, (all, at: string) => values[Number(at)] ?? all) };
}

/** A marked text as plain text. */
export function plainly(written: string): string {
  return written.replace(MARKED, "$1");
}

/** Puts values in their places in what was made of a text: they stay text, and parts of attributes. */
export function fillIn(made: ParentNode & Node, filled: Held["filled"]): void {
  const walker = document.createTreeWalker(made, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node instanceof Element) for (const one of node.attributes) one.value = filled(one.value);
    else if (node.nodeValue) node.nodeValue = filled(node.nodeValue);
  }
}
