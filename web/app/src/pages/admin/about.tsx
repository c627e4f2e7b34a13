/** What this is, and what it is made of: licences of everything that the page has in it. */
import { ask, getJson } from "../../frame/api";
import { pathOf } from "../../frame/base";
import { useAsk } from "../../frame/useask";
import { Card } from "../../ui/page";
import { Answer } from "../../ui/states";
import type { Start } from "../home/start";

/** Written when the page is built, beside this file: files of another build are not to be had. */
const LICENCES = pathOf(new URL(import.meta.url).pathname.replace(/[^/]*$/, "licenses.md")) ?? "/licenses.md";

export function About() {
  const start = useAsk((signal) => getJson<Start>("/api/start", {}, signal), []);
  const licences = useAsk(async (signal) => (await ask(LICENCES, { signal })).text(), []);
  return (
    <div class="stack">
      <Card title="Kymograph">
        <p>
          A kymograph is the instrument that first drew traces: a drum, a pen, and time. This one records what
          compute does.
        </p>
        <Answer of={start} lines={1}>
          {({ version }) => <p>Version {version}, Apache-2.0.</p>}
        </Answer>
      </Card>
      <Card title="Third-party software in this page">
        <Answer of={licences}>
          {(text) => (
            <pre class="admin-text" tabIndex={0}>
              {text}
            </pre>
          )}
        </Answer>
      </Card>
    </div>
  );
}
