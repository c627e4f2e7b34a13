/** What is shown for kinds of panels that there is no drawing for: their data as a table, and their name. */
import { Icon } from "../ui/icon";
import type { PanelProps } from "./kinds";
import { TablePanel } from "./table";

export function Fallback(props: PanelProps) {
  return (
    <div class="panel-fallback">
      <p class="panel-unsupported">
        <Icon name="info" size={14} /> Panels of the kind “{props.panel.type}” are not drawn here. This is
        their data.
      </p>
      <TablePanel {...props} height={props.height - 26} />
    </div>
  );
}
