/** A small trace that the browser sends, to see that something arrives. */
import { ask } from "../../frame/api";

function hex(bytes: number): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");
}

const text = (key: string, value: string) => ({ key, value: { stringValue: value } });

/** The request of OTLP in JSON: a root and two children, of the last second. */
export function testTrace(traceId: string, nowMillis: number): unknown {
  const at = (millis: number) => `${BigInt(Math.round(nowMillis + millis)) * 1_000_000n}`;
  const [root, ...below] = [hex(8), hex(8), hex(8)];
  const span = (spanId: string, name: string, from: number, to: number, parentSpanId?: string) => ({
    traceId,
    spanId,
    parentSpanId,
    name,
    kind: 1,
    startTimeUnixNano: at(from),
    endTimeUnixNano: at(to),
    attributes: [text("test", "sent by the page")],
  });
  return {
    resourceSpans: [
      {
        resource: { attributes: [text("service.name", "test-trace")] },
        scopeSpans: [
          {
            scope: { name: "kymograph page" },
            spans: [
              span(root!, "hello", -1000, 0),
              span(below[0]!, "look around", -900, -500, root),
              span(below[1]!, "understand", -450, -50, root),
            ],
          },
        ],
      },
    ],
  };
}

/** Sends it to the main port; the trace's id. */
export async function sendTestTrace(): Promise<string> {
  const traceId = hex(16);
  await ask("/v1/traces", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(testTrace(traceId, Date.now())),
  });
  return traceId;
}
