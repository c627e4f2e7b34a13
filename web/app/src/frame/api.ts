/**
 * Asking the server: documents, lines as they come. A failure is an `ApiError` with what the server said; a
 * server that does not answer sets `connection`, which the frame shows as one banner, and one that wants to
 * know who asks sets `login`, for which the frame has a form.
 */
import { signal } from "@preact/signals";
import { href } from "./base";
import { type Params, param } from "./router";
import { isRefused, refused, taken, token } from "./token";

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

/** Whether the browser alone, by a link or a socket, would ask as somebody else than the page does. */
export function needsHeaders(): boolean {
  return token.value !== "" || param("tenant") !== undefined;
}

/** Asks; the answer has been found to be a good one. */
export async function ask(path: string, init: RequestInit = {}): Promise<Response> {
  // Wrong tokens are counted: what would be refused is not even asked.
  if (isRefused()) throw new ApiError("a login is needed", 401, undefined, path);
  const used = token.peek();
  const response = await reach(path, init, used);
  if (response.ok) {
    if (used === token.peek()) taken();
    return response;
  }
  // Who has logged in meanwhile is not told of what was before.
  if (response.status === 401 && used === token.peek()) refused(response.headers.get("WWW-Authenticate"));
  throw await failure(response, path);
}

/** Finds out whether the server takes a token; throws what it says if it does not. */
export async function tryToken(text: string): Promise<void> {
  const path = "/api/start";
  const response = await reach(path, {}, text);
  // Whose token is right may still not see this; what he may is said where he asks for it.
  if (!response.ok && response.status !== 403) throw await failure(response, path);
}

async function reach(path: string, init: RequestInit, token: string): Promise<Response> {
  const headers = new Headers(init.headers);
  const tenant = param("tenant");
  if (tenant) headers.set("X-Scope-OrgID", tenant);
  if (token !== "") headers.set("Authorization", `Bearer ${token}`);
  let response: Response;
  try {
    response = await fetch(href(path), { ...init, headers });
  } catch (error) {
    if ((error as Error).name === "AbortError") throw error;
    lost();
    throw new ApiError("the server does not answer", 0, undefined, path);
  }
  if (connection.peek().lost) connection.value = { lost: false };
  return response;
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
