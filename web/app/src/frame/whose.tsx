/**
 * Who is logged in, and whose data is looked at: beside the other things of the top bar, with a menu where
 * there are several tenants. Where nobody logs in and there is only the default one, nothing is shown.
 */
import { useState } from "preact/hooks";
import { TextField } from "../ui/field";
import { Icon } from "../ui/icon";
import { Popover } from "../ui/popover";
import { getJson } from "./api";
import { setParams, tenant } from "./router";
import { isTaken, sitting } from "./token";
import { useAsk } from "./useask";

/** What `/api/start` says of who asks. */
export interface User {
  name: string;
  is_known: boolean;
  tenants: readonly string[];
}

export interface Standing {
  /** Who is logged in, if anybody is. */
  name?: string;
  /** Whose data is looked at, if there is anything to tell of that. */
  tenant?: string;
  /** What can be looked at instead. */
  tenants: readonly string[];
  /** Whether another may be typed: there are too many to choose from, or nobody knows them all. */
  isTyped: boolean;
}

const DEFAULT = "default";
const ANY = "*";
/** In longer lists names are found by typing. */
const MOST_LISTED = 12;

/** What there is to show. `chosen` is the tenant of the address; without, the server takes the default one. */
export function standingOf(user: User, chosen: string | undefined): Standing {
  const tenants = user.tenants.filter((one) => one !== ANY);
  const [only] = tenants;
  const isOne = tenants.length === 1 && user.tenants.length === 1;
  const shown = chosen ?? (isOne && user.is_known ? only : DEFAULT);
  const isTyped = user.tenants.includes(ANY) || tenants.length > MOST_LISTED;
  const isChoice = isTyped || tenants.length > 1 || (chosen !== undefined && chosen !== only);
  return {
    name: user.is_known && user.name !== "" ? user.name : undefined,
    tenant: isChoice || shown !== DEFAULT ? shown : undefined,
    tenants: isChoice ? tenants : [],
    isTyped,
  };
}

/** Looks at another tenant's data, on the page that is shown. */
export function lookAt(name: string): void {
  setParams({ tenant: name === "" || name === DEFAULT ? undefined : name });
}

export function Whose() {
  // Asked once the server answers at all: who is yet to log in is refused often enough.
  const asked = useAsk(
    isTaken.value ? (signal) => getJson<{ user: User }>("/api/start", {}, signal) : undefined,
    [isTaken.value, sitting.value],
  );
  // Also where that is not told, the address may say whose data is looked at.
  const nobody: User = { name: "", is_known: false, tenants: [] };
  const { name, tenant: shown, tenants, isTyped } = standingOf(asked.data?.user ?? nobody, tenant.value);
  if (name === undefined && shown === undefined) return null;
  const text = <span class="ellipsis">{[name, shown].filter(Boolean).join(" · ")}</span>;
  const label = [name && `Logged in as ${name}`, shown && `Tenant ${shown}`].filter(Boolean).join(", ");
  if (tenants.length === 0 && !isTyped)
    return (
      <span class="top-whose muted" title={label}>
        {text}
      </span>
    );
  return (
    <Popover
      kind="quiet"
      align="right"
      label={label}
      button={
        <span class="top-whose">
          {text} <Icon name="down" size={12} />
        </span>
      }
    >
      {(close) => <Tenants shown={shown} tenants={tenants} isTyped={isTyped} close={close} />}
    </Popover>
  );
}

interface TenantsProps extends Pick<Standing, "tenants" | "isTyped"> {
  shown?: string;
  close: () => void;
}

function Tenants({ shown, tenants, isTyped, close }: TenantsProps) {
  const [typed, setTyped] = useState("");
  const look = (name: string) => {
    close();
    lookAt(name);
  };
  const like = tenants.filter((one) => one.toLowerCase().includes(typed.trim().toLowerCase()));
  return (
    <div class="stack">
      {isTyped && (
        <TextField
          label="Tenant"
          value={typed}
          onChange={setTyped}
          onEnter={() => look(typed.trim())}
          width="200px"
        />
      )}
      <div class="top-tenants">
        {like.map((one) => (
          <button
            key={one}
            type="button"
            class="menu-item"
            aria-pressed={one === shown}
            onClick={() => look(one)}
          >
            {one}
          </button>
        ))}
      </div>
    </div>
  );
}
