/** What is behind a panel: its data as a table, the queries as they were asked, its JSON. */
import { useState } from "preact/hooks";
import { TablePanel } from "../../panels/table";
import { Button, CopyButton } from "../../ui/button";
import { Check, SelectField } from "../../ui/field";
import { save } from "../../ui/save";
import { Empty } from "../../ui/states";
import { Tabs } from "../../ui/tabs";
import { csv, fileName } from "./csv";
import { Dialog } from "./dialog";
import type { PanelState } from "./loader";
import type { Json, Placed } from "./model";

const TABS = [
  { id: "data", label: "Data" },
  { id: "query", label: "Queries" },
  { id: "json", label: "Panel JSON" },
  { id: "frames", label: "Data JSON" },
] as const;

interface InspectProps {
  panel: Placed;
  state: PanelState;
  /** The panel as it is stored. */
  source?: Json;
  range: { from: number; to: number };
  close: () => void;
}

export function Inspect({ panel, state, source, range, close }: InspectProps) {
  const [tab, setTab] = useState<string>("data");
  const frames = state.frames ?? [];
  return (
    <Dialog title={`Inspect: ${panel.title || panel.type}`} close={close} isWide>
      <div class="stack">
        <Tabs label="What is inspected" tabs={TABS} current={tab} onChange={setTab} />
        {tab === "data" && <Data panel={panel} frames={frames} range={range} />}
        {tab === "query" && <Queries state={state} />}
        {tab === "json" && <JsonText value={source ?? panel} />}
        {tab === "frames" && <JsonText value={frames} />}
      </div>
    </Dialog>
  );
}

function Data({
  panel,
  frames,
  range,
}: {
  panel: Placed;
  frames: NonNullable<PanelState["frames"]>;
  range: { from: number; to: number };
}) {
  const [at, setAt] = useState(0);
  const [isFormatted, setFormatted] = useState(true);
  const frame = frames[Math.min(at, frames.length - 1)];
  if (!frame) return <Empty title="No data" />;
  const options = frames.map(
    (one, index) => [String(index), one.name || one.refId || `Result ${index + 1}`] as const,
  );
  return (
    <>
      <div class="row">
        {frames.length > 1 && (
          <SelectField
            label="Result"
            value={String(at)}
            options={options}
            onChange={(value) => setAt(Number(value))}
          />
        )}
        <Check label="Values as shown" checked={isFormatted} onChange={setFormatted} />
        <Button
          icon="download"
          onClick={() => save(fileName(panel.title, "csv"), "text/csv", csv(frame, isFormatted))}
        >
          Download CSV
        </Button>
      </div>
      <div class="inspect-table">
        <TablePanel
          panel={{ ...panel, type: "table", options: {} }}
          frames={[frame]}
          width={900}
          height={420}
          range={range}
        />
      </div>
    </>
  );
}

function Queries({ state }: { state: PanelState }) {
  const queries = state.queries ?? [];
  return (
    <div class="stack">
      {state.tookMillis !== undefined && (
        <p class="muted">Answered after {Math.round(state.tookMillis)} ms.</p>
      )}
      {state.errors.map(({ message }, at) => (
        <p key={at} class="bad">
          {message}
        </p>
      ))}
      {queries.map(({ refId, language, query }) => (
        <div key={refId}>
          <div class="row">
            <b>{refId}</b>
            <span class="badge">{language}</span>
            <CopyButton text={query} label="Copy the query" />
          </div>
          <pre class="inspect-code">{query}</pre>
        </div>
      ))}
      {queries.length === 0 && <Empty title="This panel has asked nothing" />}
    </div>
  );
}

function JsonText({ value }: { value: unknown }) {
  const text = JSON.stringify(value, null, 2) ?? "";
  return (
    <div>
      <CopyButton text={text}>Copy</CopyButton>
      <pre class="inspect-code" tabIndex={0}>
        {text.length > 500_000 ? `${text.slice(0, 500_000)}\n… copy it to see all` : text}
      </pre>
    </div>
  );
}
