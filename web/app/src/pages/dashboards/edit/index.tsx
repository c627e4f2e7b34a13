/** Editing one panel: how it looks now, its queries, its options, and all of it as JSON. */
import { useState } from "preact/hooks";
import { needsData } from "../../../panels";
import { Button } from "../../../ui/button";
import { PageBody } from "../../../ui/page";
import { Empty } from "../../../ui/states";
import { Tabs } from "../../../ui/tabs";
import { replacePanel } from "../change";
import type { Json, Placed, Variable } from "../model";
import { Panel, type PanelContext } from "../panel";
import { VariableBar } from "../variables";
import { formOf, JsonField } from "./fields";
import { Options } from "./options";
import { Queries } from "./queries";

interface EditPanelProps {
  title: string;
  panel: Json;
  placed: Placed | undefined;
  variables: readonly Variable[];
  context: PanelContext;
  dashboard: Json;
  onChange: (dashboard: Json) => void;
  onDone: () => void;
  /** Back to the dashboard as it was before this panel was edited. */
  onDiscard: (before: Json) => void;
}

const TABS = [
  { id: "options", label: "Options" },
  { id: "json", label: "JSON" },
] as const;

export function EditPanel({
  title,
  panel,
  placed,
  variables,
  context,
  dashboard,
  onChange,
  onDone,
  onDiscard,
}: EditPanelProps) {
  const [tab, setTab] = useState<string>("options");
  const [before] = useState(dashboard);
  const change = (next: Json) => onChange(replacePanel(dashboard, panel.id as number, next));
  return (
    <PageBody
      title={`${title} / ${String(panel.title ?? "") || "panel"}`}
      actions={
        <>
          <Button onClick={() => onDiscard(before)}>Discard changes</Button>
          <Button kind="primary" onClick={onDone}>
            Back to the dashboard
          </Button>
        </>
      }
    >
      <VariableBar variables={variables} />
      <div class="edit-panel">
        <div class="stack edit-left">
          <div class="edit-preview">
            {placed ? (
              <Panel
                key={placed.key}
                panel={placed}
                context={{ ...context, isEditing: false, onChange: undefined }}
              />
            ) : (
              <Empty title="The panel is being laid out" />
            )}
          </div>
          {needsData(String(panel.type)) && (
            <Queries
              panel={panel}
              state={placed && context.loader.state(placed.key).value}
              onChange={change}
              onRun={() => placed && context.loader.retry(placed.key)}
            />
          )}
        </div>
        <div class="edit-right">
          <Tabs label="What is edited" tabs={TABS} current={tab} onChange={setTab} />
          {tab === "options" ? (
            <Options form={formOf(panel, change)} />
          ) : (
            <JsonField
              label="The panel"
              value={panel}
              lines={30}
              expected="object"
              onChange={(value) => change({ ...(value as Json), id: panel.id })}
            />
          )}
        </div>
      </div>
    </PageBody>
  );
}
