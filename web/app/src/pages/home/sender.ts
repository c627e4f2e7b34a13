/** Who sends: the headers that snippets need where the server wants to know it, as each language writes them. */

export interface Sender {
  /** Whether the server wants a login. */
  needsToken: boolean;
  /** Whose data it is, if the page looks at somebody's. */
  tenant?: string;
}

/** Stands where a token belongs. */
export const TOKEN = "YOUR_TOKEN";

type Headers = readonly (readonly [string, string])[];

export function headersOf({ needsToken, tenant }: Sender): Headers {
  // Several can be read together; what is sent is of one.
  const [whose] = tenant?.split("|") ?? [];
  return [
    ...(needsToken ? [["Authorization", `Bearer ${TOKEN}`] as const] : []),
    ...(whose ? [["X-Scope-OrgID", whose] as const] : []),
  ];
}

/** What OpenTelemetry's variable for headers has, and no shell takes apart. */
export function asVariable(headers: Headers): string {
  const escaped = (value: string) =>
    encodeURIComponent(value).replace(/[!'()*]/g, (letter) => `%${letter.charCodeAt(0).toString(16)}`);
  return headers.map(([name, value]) => `${name}=${escaped(value)}`).join(",");
}

/** `{ "name": "value" }`, as JavaScript, Go and YAML read it. */
export function asObject(headers: Headers): string {
  const members = headers.map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  return `{ ${members.join(", ")} }`;
}

/** Arguments of curl, with a space before each. */
export function asArguments(headers: Headers): string {
  return headers.map(([name, value]) => ` -H '${`${name}: ${value}`.replaceAll("'", "'\\''")}'`).join("");
}
