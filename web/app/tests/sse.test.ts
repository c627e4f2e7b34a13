/** Server-sent events, read from text however it is cut. */
import { describe, expect, it } from "vitest";
import { EventReader } from "../src/frame/sse";

const STREAM =
  ': still here\n\nevent: rates\ndata: {"a":1}\nid: 7\n\ndata: first\ndata:second\ndata\n\nevent: lost\n\n';
const READ = [
  { name: "rates", data: '{"a":1}' },
  { name: "message", data: "first\nsecond\n" },
];

describe("server-sent events", () => {
  it("have a name, and data of one line or several", () => {
    expect(new EventReader().take(STREAM)).toEqual(READ);
  });
  it("are the same wherever the text is cut, and whichever ends its lines have", () => {
    for (const end of ["\n", "\r\n", "\r"]) {
      const text = STREAM.replaceAll("\n", end);
      for (let cut = 0; cut <= text.length; cut += 1) {
        const reader = new EventReader();
        const read = [...reader.take(text.slice(0, cut)), ...reader.take(text.slice(cut))];
        expect(read, `${JSON.stringify(end)} at ${cut}`).toEqual(READ);
      }
      const reader = new EventReader();
      expect([...text].flatMap((letter) => reader.take(letter))).toEqual(READ);
    }
  });
  it("take one space from the beginning of a value, and keep colons in it", () => {
    expect(new EventReader().take("data:  two: {}\n\n")).toEqual([{ name: "message", data: " two: {}" }]);
  });
  it("without data are none, and their name is not the next one's", () => {
    expect(new EventReader().take("event: a\n\ndata: x\n\n")).toEqual([{ name: "message", data: "x" }]);
    expect(new EventReader().take("data:\n\n")).toEqual([{ name: "message", data: "" }]);
  });
  it("that are not ended are none, also after another connection", () => {
    const reader = new EventReader();
    expect(reader.take("event: a\ndata: x\ndata: hal")).toEqual([]);
    reader.begin();
    expect(reader.take("data: y\n\n")).toEqual([{ name: "message", data: "y" }]);
  });
  it("leave their id when they end, which stays until another one comes", () => {
    const reader = new EventReader();
    reader.take("id: 1\ndata: x\n\ndata: y\n\nid: 2\n");
    expect(reader.lastId).toBe("1");
    reader.begin();
    reader.take("data: z\n\n");
    expect(reader.lastId).toBe("1");
    reader.take("id: 3\n\nid: a\0b\ndata: x\n\n");
    expect(reader.lastId).toBe("3");
    reader.take("id\ndata: x\n\n");
    expect(reader.lastId).toBe("");
  });
  it("say how long to wait, in digits only", () => {
    const reader = new EventReader();
    reader.take("retry: 2500\n");
    expect(reader.retryMillis).toBe(2500);
    reader.take("retry: soon\nretry: -1\nretry:\n");
    expect(reader.retryMillis).toBe(2500);
  });
  it("pass over comments and fields that nobody knows", () => {
    expect(new EventReader().take(":data: x\ncolour: red\ndata: y\n\n")).toEqual([
      { name: "message", data: "y" },
    ]);
  });
});
