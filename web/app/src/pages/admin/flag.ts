/** A flag of the audience as a form has it, and as it is sent: what differs, and nothing else. */
import type { AuditEntry, Flag } from "./types";

export interface FlagForm {
  key: string;
  mode: Flag["mode"];
  users: string;
  percentage: string;
  regex: string;
  /** Empty for what is configured, of a new flag. */
  unknown: string;
  attributes: string;
  signals: readonly string[];
  where: string;
  description: string;
  enabled: boolean;
}

export const SIGNALS = ["traces", "metrics", "logs"] as const;

export function formOf(flag?: Flag): FlagForm {
  return {
    key: flag?.key ?? "",
    mode: flag?.mode ?? "nobody",
    users: (flag?.users ?? []).join("\n"),
    percentage: String(flag?.percentage ?? 0),
    regex: flag?.regex ?? "",
    unknown: flag?.unknown ?? "",
    attributes: (flag?.attributes ?? []).join("\n"),
    signals: flag?.signals ?? SIGNALS,
    where: flag?.where ?? "",
    description: flag?.description ?? "",
    enabled: flag?.enabled ?? true,
  };
}

function lines(text: string): string[] {
  const all = text.split("\n").map((line) => line.trim());
  return [...new Set(all.filter(Boolean))];
}

function said(form: FlagForm): Record<string, unknown> {
  return {
    mode: form.mode,
    users: lines(form.users),
    percentage: Number(form.percentage || 0),
    regex: form.regex || null,
    unknown: form.unknown,
    attributes: lines(form.attributes),
    signals: SIGNALS.filter((signal) => form.signals.includes(signal)),
    where: form.where.trim() || null,
    description: form.description,
    enabled: form.enabled,
  };
}

/** A new flag: what is left open is left to the configuration. */
export function created(form: FlagForm): Record<string, unknown> {
  const flag: Record<string, unknown> = { key: form.key.trim(), ...said(form) };
  if (form.unknown === "") delete flag.unknown;
  if (lines(form.attributes).length === 0) delete flag.attributes;
  return flag;
}

/** What differs from the flag as it was got; users one by one, so that two admins do not undo each other. */
export function changed(form: FlagForm, flag: Flag): Record<string, unknown> {
  const change: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(said(form))) {
    if (name === "users") continue;
    if (JSON.stringify(value) !== JSON.stringify(flag[name as keyof Flag])) change[name] = value;
  }
  if (form.users === flag.users.join("\n")) return change;
  const users = lines(form.users);
  const [before, after] = [new Set(flag.users), new Set(users)];
  const added = users.filter((user) => !before.has(user));
  const removed = flag.users.filter((user) => !after.has(user));
  if (added.length > 0) change.add_users = added;
  if (removed.length > 0) change.remove_users = removed;
  return change;
}

/** Who is recorded by a flag, in words. */
export function whom(flag: Flag): string {
  if (flag.mode !== "selected") return flag.mode === "nobody" ? "Nobody" : "Everybody";
  const parts: string[] = [];
  if (flag.users.length > 0) parts.push(`${flag.users.length} user${flag.users.length === 1 ? "" : "s"}`);
  if (flag.percentage > 0) parts.push(`${flag.percentage} %`);
  if (flag.regex) parts.push(`names like ${flag.regex}`);
  const unknown = flag.unknown === "everybody" ? "recorded" : "not recorded";
  return `Selected: ${parts.join(", ") || "no user yet"}. Unknown users: ${unknown}`;
}

function shown(value: unknown): string {
  if (value === null || value === undefined || value === "") return "none";
  return Array.isArray(value) ? value.join(", ") || "none" : String(value);
}

/** What an entry of the audit says, a line each. */
export function auditLines({ action, before, after }: AuditEntry): string[] {
  if (action === "delete") return [];
  const fields = Object.keys(after ?? {}).filter((name) => !name.startsWith("users"));
  const changes = fields.flatMap((name) => {
    const now = shown(after?.[name]);
    // Of a new flag, what it does not have is of no interest.
    if (!before && now === "none") return [];
    return [`${name}: ${before ? `${shown(before[name])} → ` : ""}${now}`];
  });
  const users = (sign: string, entry: Record<string, unknown> | null) => {
    const names = (entry?.users ?? []) as string[];
    const left = entry?.users_left_out ? ` and ${entry.users_left_out} more` : "";
    return names.length > 0 ? [`users: ${sign} ${names.join(", ")}${left}`] : [];
  };
  return [...changes, ...users("+", after), ...users("−", before)];
}
