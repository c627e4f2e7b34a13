/** What can be done with a panel. */
import { param } from "../../frame/router";
import { Icon } from "../../ui/icon";
import { Popover } from "../../ui/popover";
import { save } from "../../ui/save";
import { csv, fileName } from "./csv";
import type { PanelState } from "./loader";
import { menuItems } from "./menuitem";
import type { Placed } from "./model";
import { type PanelContext, viewAlone } from "./panel";

interface PanelMenuProps {
  panel: Placed;
  state: PanelState;
  context: PanelContext;
  isTable: boolean;
  onTable: (isTable: boolean) => void;
}

export function PanelMenu({ panel, state, context, isTable, onTable }: PanelMenuProps) {
  const isAlone = param("viewPanel") !== undefined;
  const frames = state.frames ?? [];
  return (
    <div class="panel-menu">
      <Popover
        kind="quiet"
        align="right"
        label={`Menu of ${panel.title || "this panel"}`}
        button={<Icon name="menu" size={14} />}
      >
        {(close) => {
          const item = menuItems(close);
          return (
            <div>
              {item("external", isAlone ? "Show all panels" : "Show alone", () =>
                viewAlone(isAlone ? undefined : panel),
              )}
              {item("edit", "Edit", () => context.onEdit(panel))}
              {item(
                "columns",
                isTable ? "View as drawn" : "View as table",
                () => onTable(!isTable),
                frames.length === 0,
              )}
              {item("search", "Inspect", () => context.onInspect(panel))}
              {item(
                "download",
                "Download CSV",
                () =>
                  frames.forEach((frame, at) => {
                    const name = frames.length > 1 ? `${panel.title}-${frame.refId ?? at + 1}` : panel.title;
                    if (at < MOST_FILES) save(fileName(name, "csv"), "text/csv", csv(frame, false));
                  }),
                frames.length === 0,
              )}
              {item("refresh", "Refresh", () => context.loader.retry(panel.key))}
              {context.onChange && item("copy", "Duplicate", () => context.onChange!(panel, "duplicate"))}
              {context.onChange && item("trash", "Remove", () => context.onChange!(panel, "remove"))}
            </div>
          );
        }}
      </Popover>
    </div>
  );
}

/** Browsers ask before they take more files than a few. */
const MOST_FILES = 5;
