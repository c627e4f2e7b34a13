/**
 * The names of the rows in sight as elements: a fixed number of them, each used again for another row when
 * one scrolls. A row that stays is not touched, so a frame of zooming changes no element at all.
 */
import { colorOf } from "../../ui/colors";
import { count } from "../../ui/format";
import { ROW_HEIGHT } from "./bars";
import { FLAG, nameOf, serviceOf, type Trace } from "./columns";
import type { Rows } from "./rows";

const INDENT = 12;

/** What the rows show. */
export interface NameScene {
  trace: Trace;
  rows: Rows;
  top: number;
  height: number;
  /** Width of the column of names, in pixels. */
  width: number;
  selected: number;
  hovered: number;
  matches: ReadonlySet<number>;
  showsCritical: boolean;
  /** Values of the chosen attributes, by column and row. */
  columns: readonly { key: string; value: (row: number) => string | undefined }[];
  /** Changes when rows must be written again though they stay: other columns, another answer. */
  version: number;
}

interface Slot {
  root: HTMLElement;
  name: HTMLElement;
  guide: HTMLElement;
  fold: HTMLButtonElement;
  swatch: HTMLElement;
  marks: HTMLElement;
  service: HTMLElement;
  text: HTMLElement;
  hidden: HTMLElement;
  values: HTMLElement[];
  key: string;
  row: number;
}

function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  className: string,
  ...children: Node[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  made.className = className;
  made.append(...children);
  return made;
}

export class NameRows {
  private readonly slots: Slot[] = [];

  constructor(
    private readonly root: HTMLElement,
    private readonly actions: {
      select: (row: number) => void;
      toggle: (row: number) => void;
      hover: (row: number) => void;
    },
  ) {
    root.addEventListener("click", this.clicked);
    root.addEventListener("pointermove", this.moved);
    root.addEventListener("pointerleave", this.left);
  }

  /** Leaves the element as it was found. */
  close(): void {
    this.root.removeEventListener("click", this.clicked);
    this.root.removeEventListener("pointermove", this.moved);
    this.root.removeEventListener("pointerleave", this.left);
    for (const slot of this.slots) slot.root.remove();
  }

  /** Shows the rows in sight. */
  update(scene: NameScene): void {
    const { rows, top, height } = scene;
    const wanted = Math.ceil(height / ROW_HEIGHT) + 1;
    while (this.slots.length < wanted) this.slots.push(this.add());
    while (this.slots.length > wanted) this.slots.pop()!.root.remove();
    const first = Math.floor(top / ROW_HEIGHT);
    for (let index = first; index < first + wanted; index += 1) {
      const slot = this.slots[index % wanted]!;
      const row = rows.at(index);
      slot.root.style.transform = `translateY(${index * ROW_HEIGHT - top}px)`;
      this.write(slot, scene, row, index);
    }
    this.root.setAttribute("aria-rowcount", String(rows.count));
    const at = rows.indexOf(scene.selected);
    if (at >= first && at < first + wanted)
      this.root.setAttribute("aria-activedescendant", `span-row-${scene.selected}`);
    else this.root.removeAttribute("aria-activedescendant");
  }

  private write(slot: Slot, scene: NameScene, row: number, index: number): void {
    const { trace, rows, selected, hovered, matches } = scene;
    const isFolded = row >= 0 && rows.folded[row] === 1;
    const state = [
      row,
      index,
      scene.version,
      scene.width,
      isFolded,
      row === selected,
      row === hovered,
      matches.has(row),
      scene.showsCritical,
      row >= 0 && rows.isContext(row),
    ].join();
    if (slot.key === state) return;
    slot.key = state;
    slot.row = row;
    slot.root.hidden = row < 0;
    if (row < 0) return;
    const { root } = slot;
    root.id = `span-row-${row}`;
    root.setAttribute("aria-rowindex", String(index + 1));
    root.setAttribute("aria-level", String(trace.depth[row]! + 1));
    root.setAttribute("aria-selected", String(row === selected));
    const names = ["span-row"];
    if (row === hovered) names.push("span-hovered");
    if (matches.has(row)) names.push("span-match");
    if (rows.isContext(row)) names.push("span-context");
    root.className = names.join(" ");
    this.writeName(slot, scene, row, isFolded);
    this.writeValues(slot, scene, row);
  }

  private writeName(
    slot: Slot,
    { trace, rows, width, showsCritical }: NameScene,
    row: number,
    isFolded: boolean,
  ): void {
    const hasChildren = rows.hasChildren(row);
    const indent = Math.min(trace.depth[row]! * INDENT, Math.floor((width * 0.45) / INDENT) * INDENT);
    slot.guide.style.width = `${indent}px`;
    slot.name.style.width = `${width}px`;
    if (hasChildren) slot.root.setAttribute("aria-expanded", String(!isFolded));
    else slot.root.removeAttribute("aria-expanded");
    slot.fold.hidden = !hasChildren;
    slot.fold.textContent = isFolded ? "▸" : "▾";
    slot.fold.setAttribute("aria-label", isFolded ? "Unfold" : "Fold");
    const service = serviceOf(trace, row);
    slot.swatch.style.background = colorOf(service);
    slot.service.textContent = service;
    const name = nameOf(trace, row);
    slot.text.textContent = name || "(no name)";
    slot.name.title = `${service}: ${name.slice(0, 300)}`;
    slot.hidden.textContent = isFolded ? `+${count(trace.subtree[row]! - 1)}` : "";
    slot.marks.replaceChildren(...marks(trace.flags[row]!, isFolded, showsCritical));
  }

  private writeValues(slot: Slot, { columns }: NameScene, row: number): void {
    while (slot.values.length < columns.length) {
      const cell = element("div", "span-value ellipsis");
      cell.setAttribute("role", "gridcell");
      slot.root.append(cell);
      slot.values.push(cell);
    }
    while (slot.values.length > columns.length) slot.values.pop()!.remove();
    columns.forEach(({ value }, at) => {
      const text = value(row) ?? "";
      slot.values[at]!.textContent = text;
      slot.values[at]!.title = text.slice(0, 300);
    });
  }

  private add(): Slot {
    const guide = element("span", "span-guide");
    const fold = element("button", "span-fold");
    fold.type = "button";
    fold.tabIndex = -1;
    const swatch = element("span", "span-swatch");
    const [marks, service, text, hidden] = [
      element("span", "span-marks"),
      element("span", "span-service"),
      element("span", "span-text"),
      element("span", "span-hidden"),
    ];
    const name = element("div", "span-name", guide, fold, swatch, marks, service, text, hidden);
    name.setAttribute("role", "gridcell");
    const root = element("div", "span-row", name);
    root.setAttribute("role", "row");
    this.root.append(root);
    return { root, name, guide, fold, swatch, marks, service, text, hidden, values: [], key: "", row: -1 };
  }

  private slotOf(event: Event): Slot | undefined {
    const root = (event.target as Element).closest(".span-row");
    return this.slots.find((slot) => slot.root === root);
  }

  private readonly clicked = (event: MouseEvent): void => {
    const slot = this.slotOf(event);
    if (!slot || slot.row < 0) return;
    if ((event.target as Element).closest(".span-fold")) this.actions.toggle(slot.row);
    else this.actions.select(slot.row);
  };

  private readonly moved = (event: PointerEvent): void => {
    this.actions.hover(this.slotOf(event)?.row ?? -1);
  };

  private readonly left = (): void => this.actions.hover(-1);
}

const MARKS: readonly { flag: number; glyph: string; name: string; title: string }[] = [
  { flag: FLAG.error, glyph: "✖", name: "bad", title: "Error" },
  { flag: FLAG.orphan, glyph: "⚠", name: "warn", title: "Its parent is not in the trace" },
  { flag: FLAG.cycle, glyph: "↻", name: "warn", title: "Its parents led back to itself" },
  { flag: FLAG.skewed, glyph: "±", name: "warn", title: "Its times do not fit its parent's: clocks differ" },
  { flag: FLAG.running, glyph: "▹", name: "good", title: "Still running" },
  { flag: FLAG.duplicate, glyph: "‖", name: "warn", title: "Another span has the same id" },
];

function marks(flags: number, isFolded: boolean, showsCritical: boolean): Node[] {
  const list: Node[] = [];
  const add = (glyph: string, name: string, title: string) => {
    const made = element("span", name);
    made.textContent = glyph;
    made.title = title;
    made.setAttribute("role", "img");
    made.setAttribute("aria-label", title);
    list.push(made);
  };
  for (const { flag, glyph, name, title } of MARKS) if ((flags & flag) !== 0) add(glyph, name, title);
  if (isFolded && (flags & FLAG.errorBelow) !== 0 && (flags & FLAG.error) === 0)
    add("✖", "bad span-below", "An error below");
  if (showsCritical && (flags & FLAG.critical) !== 0) add("⚑", "span-critical", "On the critical path");
  return list;
}
