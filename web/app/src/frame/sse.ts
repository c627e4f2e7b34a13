/**
 * Server-sent events as text becomes messages, by the rules of the HTML standard: fields of several lines,
 * comments, all three ends of lines, wherever the pieces are cut. What is not ended by an empty line is no
 * message.
 */

/** A message. */
export interface ServerEvent {
  name: string;
  data: string;
}

export class EventReader {
  /** The id that was told last: what to go on after. */
  lastId = "";
  /** How long to wait before coming again, if the server said so. */
  retryMillis: number | undefined;
  #rest = "";
  #id = "";
  #name = "";
  #data: string[] = [];

  /** A new connection: what the last one did not end is forgotten, ids and pauses hold. */
  begin(): void {
    this.#rest = "";
    this.#id = this.lastId;
    this.#name = "";
    this.#data = [];
  }

  /** Takes a piece of text; answers the messages that it ends. */
  take(piece: string): ServerEvent[] {
    const text = this.#rest + piece;
    const ends = /\r\n|\n|\r/g;
    const messages: ServerEvent[] = [];
    let start = 0;
    for (let end = ends.exec(text); end; end = ends.exec(text)) {
      // The line feed that belongs to it may be in the next piece.
      if (end[0] === "\r" && ends.lastIndex === text.length) break;
      this.#line(text.slice(start, end.index), messages);
      start = ends.lastIndex;
    }
    this.#rest = text.slice(start);
    return messages;
  }

  #line(line: string, messages: ServerEvent[]): void {
    if (line === "") {
      this.lastId = this.#id;
      if (this.#data.length > 0)
        messages.push({ name: this.#name || "message", data: this.#data.join("\n") });
      this.#name = "";
      this.#data = [];
      return;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.#name = value;
    else if (field === "data") this.#data.push(value);
    else if (field === "id" && !value.includes("\0")) this.#id = value;
    else if (field === "retry" && /^\d+$/.test(value)) this.retryMillis = Number(value);
  }
}
