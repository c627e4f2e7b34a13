/**
 * Panels on the grid of 24 columns, in rows that fold. Rows that are open or folded otherwise than the
 * dashboard has them are in the address. While a dashboard is edited panels can be moved.
 */
import { paramAll, setParams } from "../../frame/router";
import { Icon } from "../../ui/icon";
import type { GridPos, Placed, Section } from "./model";
import { Mover } from "./mover";
import { Panel, type PanelContext } from "./panel";
import { type RowEditing, RowTools } from "./rowform";

interface GridProps {
  sections: readonly Section[];
  context: PanelContext;
  onMove: (panel: Placed, place: GridPos) => void;
  /** How headings are edited, while they are. */
  rows?: RowEditing;
}

export function Grid({ sections, context, onMove, rows }: GridProps) {
  return (
    <div class="board">
      {sections.map((section, at) => {
        const key = section.row?.key ?? `first ${at}`;
        const isClosed = section.row !== undefined && isFolded(key, section);
        return (
          <div key={key}>
            {section.row && (
              <div class="board-row">
                <h2>
                  <button
                    type="button"
                    class="board-row-button"
                    aria-expanded={!isClosed}
                    onClick={() => fold(key, section, !isClosed)}
                  >
                    <Icon name={isClosed ? "right" : "down"} size={14} />
                    {section.row.title || "Row"}
                    {isClosed && <span class="muted"> ({section.panels.length} panels)</span>}
                  </button>
                </h2>
                {rows && <RowTools row={section.row} editing={rows} />}
              </div>
            )}
            {!isClosed && <Panels section={section} context={context} onMove={onMove} />}
          </div>
        );
      })}
    </div>
  );
}

function isFolded(key: string, { collapsed }: Section): boolean {
  return collapsed ? !paramAll("opened").includes(key) : paramAll("folded").includes(key);
}

function fold(key: string, { collapsed }: Section, isClosed: boolean): void {
  const name = collapsed ? "opened" : "folded";
  const others = paramAll(name).filter((one) => one !== key);
  setParams({ [name]: isClosed === collapsed ? others : [...others, key] }, { replace: true });
}

function Panels({
  section,
  context,
  onMove,
}: {
  section: Section;
  context: PanelContext;
  onMove: GridProps["onMove"];
}) {
  const top = Math.min(...section.panels.map(({ gridPos }) => gridPos.y));
  return (
    <div class="board-grid">
      {section.panels.map((panel) => {
        const { x, y, w, h } = panel.gridPos;
        return (
          <div
            key={panel.key}
            class="board-cell"
            style={{ gridColumn: `${x + 1} / span ${w}`, gridRow: `${y - top + 1} / span ${h}` }}
          >
            <Panel panel={panel} context={context} />
            {context.isEditing && <Mover panel={panel} onMove={(place) => onMove(panel, place)} />}
          </div>
        );
      })}
    </div>
  );
}
