/** Dashboards as the server answers them, and the questions about them. */
import { getJson, sendJson } from "../../frame/api";
import type { Annotation, PanelModel } from "../../panels/kinds";

export type Json = Record<string, unknown>;

/** Where a dashboard comes from: with the program, from a folder, or saved here. */
export type Origin = "shipped" | "provisioned" | "own";

export interface Listed {
  uid: string;
  title: string;
  tags: string[];
  kind: Origin;
  folder?: string;
  version: number;
  /** Milliseconds since 1970. */
  updated?: number | null;
  by?: string;
  /** Why it cannot be read. */
  error?: string;
}

export interface Loaded {
  meta: { uid: string; kind: Origin; version: number; canSave?: boolean };
  /** As it was stored. */
  dashboard: Json;
  /** As it would be written today. */
  model: Json;
}

/** What a dashboard says about itself. */
export interface Board {
  title: string;
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

/** What variables that nobody sees have as `hide`. */
export const HIDDEN = 2;

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
  /** Whether links leave it out. */
  skipUrlSync?: boolean;
  options: Choice[];
  chosen: Choice[];
  isAll: boolean;
  /** Chosen, but not offered in this time. */
  missing: string[];
  filters: Filter[];
  /** The data source that conditions are about, of variables that are such. */
  datasource?: { type: string; uid: string };
  error?: string;
  warning?: string;
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
  timeFrom?: string | null;
  timeShift?: string | null;
  hideTimeOverride?: boolean;
  /** How much of it works here, and why not all. */
  status?: "full" | "partial" | "unsupported" | null;
  reasons?: string[] | null;
}

export interface Section {
  row?: { key: string; title: string };
  collapsed: boolean;
  panels: Placed[];
}

/** Something that happened, and the panels that it is meant for, if not all. */
export interface Mark extends Annotation {
  panels?: { exclude: boolean; ids: number[] };
}

/** An annotation that can be switched on and off. */
export interface Switchable {
  name: string;
  /** Whether it is on as the dashboard is written. */
  enable: boolean;
  hide: boolean;
}

export interface Layout {
  variables: Variable[];
  sections: Section[];
  annotations: Switchable[];
  notices: string[];
  board: Board;
}

/** Which dashboard: one that is stored, or one that is being changed. */
export type Which = { uid: string } | { uid?: string; dashboard: Json };

/** What is asked with it. */
export interface Context {
  variables: Record<string, string[]>;
  from: number;
  to: number;
  /** The same as they are written, as `now-6h`. */
  rawFrom: string;
  rawTo: string;
  timezone: string;
}

export async function listDashboards(signal?: AbortSignal): Promise<Listed[]> {
  return (await getJson<{ dashboards: Listed[] }>("/api/dashboards", {}, signal)).dashboards;
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
  /** Milliseconds since 1970. */
  saved: number;
  message?: string;
  by?: string;
}

export async function listVersions(uid: string, signal?: AbortSignal): Promise<Version[]> {
  const path = `/api/dashboards/${encodeURIComponent(uid)}/versions`;
  return (await getJson<{ versions: Version[] }>(path, {}, signal)).versions;
}

export async function loadVersion(uid: string, version: number, signal?: AbortSignal): Promise<Json> {
  return (await getJson<{ dashboard: Json }>(versionPath(uid, version), {}, signal)).dashboard;
}

/** A version as it would be written today, if the server says how. */
export async function versionModel(uid: string, version: number): Promise<Json | undefined> {
  return (await getJson<{ model?: Json }>(versionPath(uid, version), { model: 1 })).model;
}

function versionPath(uid: string, version: number): string {
  return `/api/dashboards/${encodeURIComponent(uid)}/versions/${version}`;
}
