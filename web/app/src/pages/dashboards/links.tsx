/** Links of a dashboard: to other dashboards by their tags, or to an address. */
import { href } from "../../frame/base";
import { tenant } from "../../frame/router";
import { useAsk } from "../../frame/useask";
import { ours, safeAddress } from "../../panels/links";
import { Icon } from "../../ui/icon";
import { Popover } from "../../ui/popover";
import { type BoardLink, listDashboards } from "./model";
import { carried } from "./variables";

export function BoardLinks({ links }: { links: readonly BoardLink[] }) {
  if (links.length === 0) return null;
  return (
    <nav class="board-links" aria-label="Links of the dashboard">
      {links.map((link, at) =>
        link.type === "dashboards" ? <ByTag key={at} link={link} /> : <One key={at} link={link} />,
      )}
    </nav>
  );
}

/** The address with what the link takes along: of ours also whose data is looked at, for new tabs. */
export function withCarried(whole: string, link: BoardLink, isOutside: boolean): string {
  const taken = new URLSearchParams(carried(link.keepTime === true, link.includeVars === true));
  const [address = "", ...rest] = whole.split("#");
  if (!isOutside && tenant.value && !/[?&]tenant=/.test(address)) taken.set("tenant", tenant.value);
  const more = taken.toString();
  if (more === "") return whole;
  return [address + (address.includes("?") ? "&" : "?") + more, ...rest].join("#");
}

function One({ link }: { link: BoardLink }) {
  const address = safeAddress(link.url ?? "");
  if (address === undefined) return <span class="muted">{link.title}</span>;
  const isOutside = /^https?:/i.test(address);
  const full = withCarried(address, link, isOutside);
  return (
    <a
      href={isOutside ? full : ours(full)}
      title={link.tooltip || undefined}
      target={link.targetBlank || isOutside ? "_blank" : undefined}
      rel="noopener noreferrer"
    >
      {link.title || address} {isOutside && <Icon name="external" size={11} />}
    </a>
  );
}

function ByTag({ link }: { link: BoardLink }) {
  const asked = useAsk((signal) => listDashboards(signal), []);
  const tags = link.tags ?? [];
  const found = (asked.data ?? []).filter((one) => tags.every((tag) => one.tags.includes(tag)));
  const anchors = found.map((one) => (
    <a key={one.uid} href={href(withCarried(`/d/${encodeURIComponent(one.uid)}`, link, false))}>
      {one.title}
    </a>
  ));
  if (!link.asDropdown) return <>{anchors}</>;
  return (
    <Popover
      kind="quiet"
      label={link.title || "Dashboards"}
      button={
        <>
          {link.title || "Dashboards"} <Icon name="down" size={12} />
        </>
      }
    >
      {() => <div class="linked-menu">{anchors}</div>}
    </Popover>
  );
}
