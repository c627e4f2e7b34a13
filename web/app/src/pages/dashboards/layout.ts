/** Asks the server to lay a dashboard out, and reads what it answers. */
import { sendJson } from "../../frame/api";
import { settled } from "./change";
import {
  type Board,
  type BoardLink,
  type Choice,
  type Context,
  HIDDEN,
  type Layout,
  type Placed,
  type Section,
  type Variable,
  type Which,
} from "./model";

/** A variable as the server sends it; lists that are empty may be left out. */
interface Resolved
  extends Pick<Variable, "name" | "label" | "description" | "type" | "hide" | "multi" | "skipUrlSync"> {
  includeAll: boolean;
  allowCustom: boolean;
  options: Choice[];
  current: Choice[];
  missing?: string[];
  filters?: Variable["filters"];
  datasource?: Variable["datasource"];
  error?: string;
  warning?: string;
}

/** The answer: panels and rows in one list, from top to bottom. */
export interface Answered {
  dashboard: Board;
  links: BoardLink[];
  variables: Resolved[];
  panels: (Placed & { collapsed?: boolean; row?: string | null })[];
  truncated: boolean;
  annotations?: Layout["annotations"];
}

const ALL = "$__all";

export async function layOut(which: Which, context: Context, signal?: AbortSignal): Promise<Layout> {
  const answer = await sendJson<Answered>("POST", "/api/dashboards/layout", { ...which, ...context }, signal);
  return {
    board: { ...answer.dashboard, links: answer.links },
    variables: answer.variables.map(variable),
    sections: sectionsOf(answer.panels),
    annotations: answer.annotations ?? [],
    notices: [
      ...(answer.truncated ? ["There are more copies of panels than are shown. Choose fewer values."] : []),
      ...answer.variables.flatMap(hiddenError),
    ],
  };
}

/** What is wrong with a variable that the bar does not show. */
function hiddenError({ name, hide, error }: Resolved): string[] {
  return error && hide === HIDDEN ? [`$${name}: ${error}`] : [];
}

function variable({ current, allowCustom, missing, filters, ...of }: Resolved): Variable {
  return {
    ...of,
    allowsOther: allowCustom,
    chosen: current,
    isAll: current.some(({ value }) => value === ALL),
    missing: missing ?? [],
    filters: filters ?? [],
  };
}

/** Panels by the rows that they are in: a row's heading begins a section, and so does what is in none behind one. */
export function sectionsOf(panels: Answered["panels"]): Section[] {
  const made: Section[] = [{ collapsed: false, panels: [] }];
  for (const panel of panels) {
    if (panel.type === "row") {
      made.push({
        row: { key: panel.key, title: panel.title },
        collapsed: panel.collapsed === true,
        panels: [],
      });
    } else {
      if (panel.row === null && made.at(-1)!.row) made.push({ collapsed: false, panels: [] });
      made.at(-1)!.panels.push(panel);
    }
  }
  return made.filter(({ row, panels }) => row || panels.length > 0).map(apart);
}

/** Sections with more panels than this are left as they are: everything is compared with everything. */
const MOST_COMPARED = 600;

/** Panels that are written over each other, or with holes between them, are where Grafana would put them. */
function apart(section: Section): Section {
  if (section.panels.length > MOST_COMPARED) return section;
  const places = settled(section.panels.map(({ gridPos }, id) => ({ ...gridPos, id })));
  return { ...section, panels: section.panels.map((panel, id) => ({ ...panel, gridPos: places.get(id)! })) };
}
