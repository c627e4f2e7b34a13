/** What is left in a query when a value is chosen that the editor offers. */
import "./panels-browser";
import { CompletionContext, type CompletionSource, insertCompletionText } from "@codemirror/autocomplete";
import { EditorState, type TransactionSpec } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { languageOf } from "../src/ui/editor/languages";
import { quotedEnd } from "../src/ui/editor/quoted";
import { MOST_VALUES, tagValues } from "../src/ui/editor/tags";

const VALUES = ["frontend", "payment"];

/** What the server answers: values of tags and of labels. */
async function answer(path: string): Promise<Response> {
  const said = path.startsWith("/tempo")
    ? { tagValues: VALUES.map((value) => ({ type: "string", value })) }
    : { status: "success", data: VALUES, values: VALUES };
  return new Response(JSON.stringify(said));
}

beforeEach(() => {
  vi.stubGlobal("fetch", (path: string) => answer(path));
});
afterEach(() => {
  vi.unstubAllGlobals();
});

/** The query after a label was chosen at `^`. */
async function chosen(language: "traceql" | "logql", marked: string, label: string): Promise<string> {
  const cursor = marked.indexOf("^");
  const state = EditorState.create({
    doc: marked.replace("^", ""),
    selection: { anchor: cursor },
    extensions: languageOf(language),
  });
  const [complete] = state.languageDataAt<CompletionSource>("autocomplete", cursor);
  const result = await complete!(new CompletionContext(state, cursor, true));
  const option = result?.options.find((one) => one.label === label);
  expect(option, `${label} is offered in ${marked}`).toBeDefined();
  const [from, to] = [result!.from, result!.to ?? cursor];
  const { apply } = option!;
  if (typeof apply !== "function")
    return state.update(insertCompletionText(state, apply ?? label, from, to)).state.doc.toString();
  let after = state;
  const dispatch = (...changes: TransactionSpec[]) => {
    after = state.update(...changes).state;
  };
  apply({ state, dispatch } as unknown as EditorView, option!, from, to);
  return after.doc.toString();
}

describe("a value that is chosen between quotes", () => {
  const field = "resource.service.name";
  it.each([
    [`{ ${field} = "^" }`, `{ ${field} = "payment" }`],
    [`{ ${field} = "pay^" }`, `{ ${field} = "payment" }`],
    [`{ ${field} = "fron^tend" }`, `{ ${field} = "payment" }`],
    [`{ ${field} = "fron^tend" && status = error }`, `{ ${field} = "payment" && status = error }`],
    [`{ ${field} = "^" && span.a = "b" }`, `{ ${field} = "payment" && span.a = "b" }`],
    [`{ ${field} = "^`, `{ ${field} = "payment"`],
    [`{ ${field} = "p^ && span.a = "b" }`, `{ ${field} = "payment" && span.a = "b" }`],
    [`{ ${field} = ^ }`, `{ ${field} = "payment" }`],
  ])("takes the place of the whole text in TraceQL: %s", async (query, expected) => {
    expect(await chosen("traceql", query, '"payment"')).toBe(expected);
  });
  it.each([
    ['{service_name="^"}', '{service_name="payment"}'],
    ['{service_name="fron^tend"} |= "x"', '{service_name="payment"} |= "x"'],
    ['{service_name="^', '{service_name="payment"'],
    ['{a="b"} | app="fron^tend"', '{a="b"} | app="payment"'],
  ])("takes the place of the whole text in LogQL: %s", async (query, expected) => {
    expect(await chosen("logql", query, '"payment"')).toBe(expected);
  });
});

describe("values that are offered", () => {
  it("are compared with what stands before the cursor only", async () => {
    const state = EditorState.create({
      doc: '{ resource.service.name = "" }',
      extensions: languageOf("traceql"),
    });
    const cursor = state.doc.toString().indexOf('"') + 1;
    const [complete] = state.languageDataAt<CompletionSource>("autocomplete", cursor);
    const result = await complete!(new CompletionContext(state, cursor, true));
    expect([result?.from, result?.to]).toEqual([cursor - 1, undefined]);
  });
});

describe("values that are too many to be told all", () => {
  const asked: URLSearchParams[] = [];
  const many = Array.from({ length: MOST_VALUES }, (_, at) => `pod-${at}`);
  beforeEach(() => {
    asked.length = 0;
    vi.stubGlobal("fetch", async (path: string) => {
      const query = new URL(path, "http://here/").searchParams;
      asked.push(query);
      const isFound = query.get("q")!.includes("(?i)");
      const values = isFound ? ["Zebra.9"] : many;
      return new Response(JSON.stringify({ tagValues: values.map((value) => ({ type: "string", value })) }));
    });
  });
  it("are those that have what is typed", async () => {
    const first = await tagValues("resource.k8s.pod", "{}", "");
    expect([first.values.length, first.isCut]).toEqual([MOST_VALUES, true]);
    expect(asked[0]!.get("limit")).toBe(String(MOST_VALUES));
    const { values } = await tagValues("resource.k8s.pod", '{ span.a = "b" }', "zebra.9");
    expect(values.map(({ value }) => value)).toEqual(["Zebra.9"]);
    const pattern = '"(?i).*zebra\\\\.9.*"';
    expect(asked.at(-1)!.get("q")).toBe(`{ span.a = "b" && resource.k8s.pod =~ ${pattern} }`);
  });
  it("are asked for again as somebody types in the editor", async () => {
    const state = EditorState.create({ doc: '{ span.pod = "zeb" }', extensions: languageOf("traceql") });
    const [complete] = state.languageDataAt<CompletionSource>("autocomplete", 17);
    const result = await complete!(new CompletionContext(state, 17, true));
    expect(result?.options.map(({ label }) => label)).toEqual(['"Zebra.9"']);
    expect(result?.validFor).toBeUndefined();
  });
});

describe("the end of a quoted text", () => {
  it("is behind its closing quote, of either kind, and not at an escaped one", () => {
    expect(quotedEnd('"a\\"b"', 0, 2)).toBe(6);
    expect(quotedEnd("`ab`", 0, 2)).toBe(4);
    expect(quotedEnd('"a\\"', 0, 2)).toBe(2);
    expect(quotedEnd('"a\\\\" ', 0, 2)).toBe(5);
  });
});
