/**
 * Asking the server: documents, lines as they come, events. A failure is an `ApiError` with what the
 * server said; a server that does not answer sets `connection`, which the frame shows as one banner.
 */
import { signal } from "@preact/signals";
import { href } from "./base";
import { type Params, param } from "./router";

/** What went wrong with a question. */
export class ApiError extends Error {
  constructor(
    message: string,
    /** HTTP's status; 0 if nobody answered. */
    readonly status: number,
    /** Where in a query, in characters from its beginning, if the server said so. */
    readonly position?: number,
    /** What was asked. */
    readonly asked?: string,
  ) {
    super(message);
  }
}

/** Whether the server answers. */
export const connection = signal<{ lost: boolean; retryAt?: number }>({ lost: false });

/** A token that somebody typed in, where browsers have no other login. It is gone with the tab. */
export const token = signal("");

/** The path of a question with its parameters. */
export function question(path: string, params: Params = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value === undefined || value === null || value === false) continue;
    if (Array.isArray(value)) for (const one of value) query.append(name, one);
    else query.set(name, String(value));
  }
  const text = query.toString();
  return text === "" ? path : `${path}?${text}`;
}

/** Asks; the answer has been found to be a good one. */
export async function ask(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  const tenant = param("tenant");
  if (tenant) headers.set("X-Scope-OrgID", tenant);
  if (token.peek() !== "") headers.set("Authorization", `Bearer ${token.peek()}`);
  let response: Response;
  try {
    response = await fetch(href(path), { ...init, headers });
  } catch (error) {
    if ((error as Error).name === "AbortError") throw error;
    lost();
    throw new ApiError("the server does not answer", 0, undefined, path);
  }
  if (connection.peek().lost) connection.value = { lost: false };
  if (response.ok) return response;
  throw await failure(response, path);
}

async function failure(response: Response, path: string): Promise<ApiError> {
  const text = await response.text();
  let message = text.trim() || `${response.status} ${response.statusText}`;
  let position: number | undefined;
  try {
    const said = JSON.parse(text) as Record<string, unknown>;
    const words = said.error ?? said.message;
    if (typeof words === "string") message = words;
    if (typeof said.position === "number") position = said.position;
    else if (typeof said.position === "object")
      position = (said.position as { offset?: number } | null)?.offset;
  } catch {
    // Plain text is said as it is.
  }
  return new ApiError(message, response.status, position, path);
}

/** A JSON document. */
export async function getJson<T>(path: string, params: Params = {}, signal?: AbortSignal): Promise<T> {
  const response = await ask(question(path, params), { signal });
  return (await response.json()) as T;
}

/** Sends a JSON document, and gets one. */
export async function sendJson<T>(
  method: "POST" | "PUT" | "PATCH" | "DELETE",
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<T> {
  const init: RequestInit = { method, signal };
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers = { "Content-Type": "application/json" };
  }
  const response = await ask(path, init);
  const text = await response.text();
  return (text === "" ? undefined : JSON.parse(text)) as T;
}

/** Lines of JSON, handed over as they come. */
export async function eachLine<T>(path: string, init: RequestInit, take: (line: T) => void): Promise<void> {
  const response = await ask(path, init);
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    rest += value;
    let end = rest.indexOf("\n");
    let start = 0;
    for (; end >= 0; end = rest.indexOf("\n", start)) {
      if (end > start) take(JSON.parse(rest.slice(start, end)) as T);
      start = end + 1;
    }
    rest = rest.slice(start);
  }
  if (rest.trim() !== "") take(JSON.parse(rest) as T);
}

/** Server-sent events, taken up again after a pause when they break off. Returns what ends them. */
export function events(
  path: string,
  params: Params,
  heard: Record<string, (data: unknown) => void>,
): () => void {
  const source = new EventSource(href(question(path, { ...params, tenant: param("tenant") })));
  for (const [name, take] of Object.entries(heard)) {
    source.addEventListener(name, (event) => take(JSON.parse((event as MessageEvent<string>).data)));
  }
  source.addEventListener("open", () => {
    if (connection.peek().lost) connection.value = { lost: false };
  });
  return () => source.close();
}

let pause = 1000;

/** Says that the server is gone, and looks for it until it is back. */
function lost(): void {
  if (connection.peek().lost) return;
  pause = 1000;
  wait();
}

function wait(): void {
  connection.value = { lost: true, retryAt: Date.now() + pause };
  setTimeout(async () => {
    try {
      const response = await fetch(href("/ready"));
      if (response.ok) {
        connection.value = { lost: false };
        return;
      }
    } catch {
      // Still gone.
    }
    pause = Math.min(pause * 2, 15_000);
    wait();
  }, pause);
}
