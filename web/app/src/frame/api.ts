/**
 * Asking the server: documents, lines as they come. A failure is an `ApiError` with what the server said; a
 * server that does not answer sets `connection`, which the frame shows as one banner, and one that wants to
 * know who asks sets `login`, for which the frame has a form.
 */
import { href } from "./base";
import { found, lost } from "./connection";
import { type Params, tenant } from "./router";
import { isRefused, refused, taken, token } from "./token";
import { underWay } from "./underway";

export { connection } from "./connection";

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
    /** The parameter that it is about, if the server said which of several. */
    readonly parameter?: string,
    /** What the server calls the request in its log. */
    readonly requestId?: string,
  ) {
    super(message);
  }
}

const GONE = "the server does not answer";

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
  return token.value !== "" || tenant.value !== undefined;
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
  // What is not read would keep its connection busy.
  if (response.ok) await response.body?.cancel();
  // Whose token is right may still not see this; what he may is said where he asks for it.
  if (!response.ok && response.status !== 403) throw await failure(response, path);
}

async function reach(path: string, init: RequestInit, token: string): Promise<Response> {
  const headers = new Headers(init.headers);
  const whose = tenant.peek();
  if (whose) headers.set("X-Scope-OrgID", whose);
  if (token !== "") headers.set("Authorization", `Bearer ${token}`);
  let response: Response;
  try {
    response = await fetch(href(path), { ...init, headers });
  } catch (error) {
    if ((error as Error).name === "AbortError") throw error;
    throw gone(path);
  }
  if (isOfProxy(response)) throw gone(path);
  found();
  return response;
}

function gone(path: string): ApiError {
  lost();
  return new ApiError(GONE, 0, undefined, path);
}

/** Whether a proxy says that there is no server behind it, as it does while that is started anew. */
function isOfProxy({ status, headers }: Response): boolean {
  return status === 502 || (status === 503 && isDocument(headers));
}

/** Whether it is a page for people, which the server's own answers to questions never are. */
function isDocument(headers: Headers): boolean {
  return /^text\/html\b/i.test(headers.get("Content-Type") ?? "");
}

async function failure(response: Response, path: string): Promise<ApiError> {
  const { status } = response;
  const { message, position, parameter } = words(await whole(response.text(), path));
  const isSaid = message !== "" && !isDocument(response.headers);
  const told = isSaid ? message : `the server refused, with status ${status}`;
  const requestId = response.headers.get("X-Request-Id") ?? undefined;
  return new ApiError(told, status, position, path, parameter, requestId);
}

/** What an answer says that is wrong: JSON of one of the interfaces, or plain text as it is. */
function words(text: string): { message: string; position?: number; parameter?: string } {
  let said: unknown;
  try {
    said = JSON.parse(text);
  } catch {
    return { message: text.trim() };
  }
  if (typeof said !== "object" || said === null) return { message: typeof said === "string" ? said : "" };
  const { error, message, position, parameter } = said as Record<string, unknown>;
  const inner = (error as { message?: unknown } | undefined | null)?.message;
  const offset = (position as { offset?: unknown } | undefined | null)?.offset ?? position;
  return {
    message: [error, inner, message].find((one) => typeof one === "string") ?? "",
    position: typeof offset === "number" ? offset : undefined,
    parameter: typeof parameter === "string" ? parameter : undefined,
  };
}

/** The body of an answer; one that breaks off, or that somebody else gave, is told in words. */
async function whole<T>(body: Promise<T>, path: string): Promise<T> {
  try {
    return await body;
  } catch (error) {
    const { name } = error as Error;
    if (name === "AbortError") throw error;
    if (name !== "SyntaxError") throw gone(path);
    const why = "the answer cannot be read: something between this page and the server may have given it";
    throw new ApiError(why, 200, undefined, path);
  }
}

/** A JSON document. */
export async function getJson<T>(path: string, params: Params = {}, signal?: AbortSignal): Promise<T> {
  const asked = question(path, params);
  const response = await ask(asked, { signal });
  return whole<T>(response.json(), asked);
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
  const document = response.text().then((text) => (text === "" ? undefined : JSON.parse(text)) as T);
  return whole(document, path);
}

/** Text of an answer as it comes, until `take` wants no more. For answers that have an end. */
export async function eachPiece(
  path: string,
  init: RequestInit,
  take: (piece: string) => boolean,
): Promise<void> {
  const end = underWay();
  try {
    await pieces(path, init, take);
  } finally {
    end();
  }
}

async function pieces(path: string, init: RequestInit, take: (piece: string) => boolean): Promise<void> {
  const response = await ask(path, init);
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { value, done } = await whole(reader.read(), path);
      if (done || !take(value)) return;
    }
  } finally {
    // What is left is not wanted; what broke off has said so already.
    reader.cancel().catch(() => {});
  }
}

/** Lines of JSON, handed over as they come. */
export async function eachLine<T>(path: string, init: RequestInit, take: (line: T) => void): Promise<void> {
  let rest = "";
  await eachPiece(path, init, (piece) => {
    rest += piece;
    let end = rest.indexOf("\n");
    let start = 0;
    for (; end >= 0; end = rest.indexOf("\n", start)) {
      if (end > start) take(JSON.parse(rest.slice(start, end)) as T);
      start = end + 1;
    }
    rest = rest.slice(start);
    return true;
  });
  if (rest.trim() !== "") take(JSON.parse(rest) as T);
}
