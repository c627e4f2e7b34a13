/** What a panel is, as the server lays it out, and what draws it gets. */
import type { ComponentType } from "preact";
import type { Range } from "../frame/time";
import type { Frame, ShownValue } from "./frame";

/** A panel as it is drawn: variables are put in, configuration is up to date. */
export interface PanelModel {
  type: string;
  title: string;
  options: Record<string, unknown>;
  fieldConfig?: { defaults?: Record<string, unknown>; overrides?: unknown[] };
}

/** Something that happened, drawn as a line or an area over time. */
export interface Annotation {
  time: number;
  timeEnd?: number;
  title?: string;
  text?: string;
  tags?: string[];
  color?: string;
}

export interface PanelProps {
  panel: PanelModel;
  frames: Frame[];
  /** Single values, for the kinds that show such. */
  shown?: readonly ShownValue[];
  width: number;
  height: number;
  /** The time that is shown: the dashboard's, unless the panel has its own. */
  range: Range;
  annotations?: readonly Annotation[];
  /** Panels with the same share their cursor; `values` also says values in each of them. */
  sync?: { key: string; values: boolean };
  onZoom?: (from: number, to: number) => void;
}

export type PanelView = ComponentType<PanelProps>;
