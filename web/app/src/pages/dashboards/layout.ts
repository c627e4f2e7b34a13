/** Asks the server to lay a dashboard out, and reads what it answers. */
import { sendJson } from "../../frame/api";
import type { Annotation } from "../../panels/kinds";
import type { Board, Context, Layout, Placed, Section, Variable, Which } from "./model";

/** The answer: panels and rows in one list, and which of them fold together. */
interface Answered {
  dashboard?: Board;
  model?: Board;
  variables?: Partial<Variable>[];
  panels?: (Placed & { type: string })[];
  sections?: { row?: string | null; collapsed: boolean; top: number; height: number }[];
  annotations?: Annotation[];
  notices?: (string | { text: string })[];
}

export async function layOut(which: Which, context: Context, signal?: AbortSignal): Promise<Layout> {
  const answer = await sendJson<Answered>("POST", "/api/dashboards/layout", { ...which, ...context }, signal);
  return {
    board: answer.dashboard ?? answer.model ?? { title: "" },
    variables: (answer.variables ?? []).map(variable),
    sections: sectionsOf(answer),
    annotations: answer.annotations ?? [],
    notices: (answer.notices ?? []).map((notice) => (typeof notice === "string" ? notice : notice.text)),
  };
}

function variable(of: Partial<Variable>): Variable {
  return {
    name: "",
    type: "custom",
    hide: 0,
    multi: false,
    includeAll: false,
    allowsOther: true,
    options: [],
    chosen: [],
    isAll: false,
    missing: [],
    filters: [],
    ...of,
  };
}

/** Panels by the rows that they are in: a row's heading begins a section. */
export function sectionsOf({ panels = [], sections = [] }: Answered): Section[] {
  const closed = new Map(sections.map(({ row, collapsed }) => [row ?? "", collapsed]));
  const made: Section[] = [{ collapsed: false, panels: [] }];
  for (const panel of panels) {
    if (panel.type === "row") {
      made.push({
        row: { key: panel.key, title: panel.title },
        collapsed: closed.get(panel.key) ?? false,
        panels: [],
      });
    } else made.at(-1)!.panels.push(panel);
  }
  return made.filter(({ row, panels }) => row || panels.length > 0);
}
