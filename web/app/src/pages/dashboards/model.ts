/** Dashboards as the server answers them, and the questions about them. */
import { getJson, sendJson } from "../../frame/api";
import type { Annotation, PanelModel } from "../../panels/kinds";

export type Json = Record<string, unknown>;

/** Where a dashboard comes from: with the program, from a folder, or made here. */
export type Origin = "shipped" | "provisioned" | "own";

export interface Listed {
  uid: string;
  title: string;
  description?: string;
  tags: string[];
  origin: Origin;
  version?: number;
  updated?: string;
  panels?: number;
}

export interface Loaded {
  meta: Listed & { canSave?: boolean };
  /** As it was stored. */
  dashboard: Json;
  /** As it is understood. */
  model: Board;
}

/** What a dashboard says about itself. */
export interface Board {
  title: string;
  description?: string;
  tags?: string[];
  timeFrom?: string;
  timeTo?: string;
  refresh?: string | null;
  graphTooltip?: number;
  links?: BoardLink[];
}

export interface BoardLink {
  type?: string;
  title?: string;
  url?: string;
  tags?: string[];
  asDropdown?: boolean;
  keepTime?: boolean;
  includeVars?: boolean;
  targetBlank?: boolean;
  tooltip?: string;
}

export interface Choice {
  text: string;
  value: string;
}

export interface Filter {
  key: string;
  operator: string;
  value: string;
  values?: string[];
}

/** A variable with what it offers and what is chosen. */
export interface Variable {
  name: string;
  label?: string;
  description?: string;
  type: string;
  hide: number;
  multi: boolean;
  includeAll: boolean;
  allowsOther: boolean;
  options: Choice[];
  chosen: Choice[];
  isAll: boolean;
  /** Chosen, but not offered in this time. */
  missing: string[];
  filters: Filter[];
  error?: string;
}

export interface GridPos {
  x: number;
  y: number;
  w: number;
  h: number;
}

/** A panel where it stands, with the values of its copy. */
export interface Placed extends PanelModel {
  key: string;
  id: number;
  description?: string;
  gridPos: GridPos;
  scope: Record<string, Choice>;
  transparent?: boolean;
  links?: BoardLink[];
  timeInfo?: string;
  repeat?: string;
}

export interface Section {
  row?: { key: string; title: string };
  collapsed: boolean;
  panels: Placed[];
}

export interface Layout {
  variables: Variable[];
  sections: Section[];
  annotations: Annotation[];
  notices: string[];
  board: Board;
}

/** Which dashboard: one that is stored, or one that is being changed. */
export type Which = { uid: string } | { dashboard: Json };

/** What is asked with it. */
export interface Context {
  variables: Record<string, string[]>;
  from: number;
  to: number;
}

export async function listDashboards(signal?: AbortSignal): Promise<Listed[]> {
  const answer = await getJson<Listed[] | { dashboards: Listed[] }>("/api/dashboards", {}, signal);
  return Array.isArray(answer) ? answer : answer.dashboards;
}

export function loadDashboard(uid: string, signal?: AbortSignal): Promise<Loaded> {
  return getJson<Loaded>(`/api/dashboards/${encodeURIComponent(uid)}`, {}, signal);
}

export interface Saved {
  uid: string;
  version: number;
}

export function saveDashboard(
  dashboard: Json,
  message: string,
  version?: number,
  overwrite = false,
): Promise<Saved> {
  return sendJson<Saved>("POST", "/api/dashboards", { dashboard, message, version, overwrite });
}

export function deleteDashboard(uid: string): Promise<unknown> {
  return sendJson("DELETE", `/api/dashboards/${encodeURIComponent(uid)}`);
}

export interface Version {
  version: number;
  saved?: string;
  message?: string;
  author?: string;
}

export async function listVersions(uid: string, signal?: AbortSignal): Promise<Version[]> {
  const path = `/api/dashboards/${encodeURIComponent(uid)}/versions`;
  const answer = await getJson<Version[] | { versions: Version[] }>(path, {}, signal);
  return Array.isArray(answer) ? answer : answer.versions;
}

export async function loadVersion(uid: string, version: number, signal?: AbortSignal): Promise<Json> {
  const answer = await getJson<{ dashboard?: Json } & Json>(
    `/api/dashboards/${encodeURIComponent(uid)}/versions/${version}`,
    {},
    signal,
  );
  return (answer.dashboard as Json | undefined) ?? answer;
}
