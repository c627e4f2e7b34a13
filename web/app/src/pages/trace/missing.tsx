/** Where there is no trace: why that may be, and what can be done about it. */
import { href } from "../../frame/base";
import { link } from "../../frame/router";
import { PageBody } from "../../ui/page";
import { Empty } from "../../ui/states";
import { isUpload } from "./asked";
import { UploadTrace } from "./upload";
import "./trace.css";

export function UnknownTrace({ id }: { id: string }) {
  return (
    <PageBody title="Trace not found">
      <Empty title={`There is no trace ${id.slice(0, 64)}`}>
        {isUpload(id) ? (
          <p>Traces from files are kept for a while only. Open the file again.</p>
        ) : (
          <ul class="missing-list">
            <li>It may have been dropped when its time of retention was over.</li>
            <li>It may belong to another tenant, or you may not see it.</li>
            <li>It may still be on its way: spans are found within seconds after they were sent.</li>
            <li>
              An id has 32 hexadecimal digits{/^[0-9a-f]{1,32}$/i.test(id) ? "" : "; this one has not"}.
            </li>
          </ul>
        )}
        <div class="row">
          <a class="button" href={href(link("/traces", { from: "now-24h", to: "now" }))}>
            Search the last 24 hours
          </a>
          <a class="button" href={href(link("/admin/storage"))}>
            What is kept, and how long
          </a>
          <UploadTrace label="Open a trace from a file" />
        </div>
      </Empty>
    </PageBody>
  );
}

export function EmptyTrace({ id }: { id: string }) {
  return (
    <PageBody title="A trace without spans">
      <Empty title="This trace has no spans">
        <p>
          Nothing that can be drawn is in <code>{id.slice(0, 64)}</code>. Its spans may have been erased.
        </p>
        <UploadTrace label="Open a trace from a file" />
      </Empty>
    </PageBody>
  );
}
