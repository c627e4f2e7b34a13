/** Links of a dashboard: to other dashboards by their tags, or to an address. */
import { href } from "../../frame/base";
import { tenant } from "../../frame/router";
import { useAsk } from "../../frame/useask";
import { ours, safeAddress } from "../../panels/links";
import { Icon } from "../../ui/icon";
import { Popover } from "../../ui/popover";
import { type BoardLink, listDashboards, type Variable } from "./model";
import { carried } from "./variables";

interface BoardLinksProps {
  links: readonly BoardLink[];
  variables: readonly Variable[];
}

export function BoardLinks({ links, variables }: BoardLinksProps) {
  if (links.length === 0) return null;
  return (
    <nav class="board-links" aria-label="Links of the dashboard">
      {links.map((link, at) =>
        link.type === "dashboards" ? (
          <ByTag key={at} link={link} variables={variables} />
        ) : (
          <One key={at} link={link} variables={variables} />
        ),
      )}
    </nav>
  );
}

/**
 * The address with what the link takes along, unless it says that itself: of ours also whose data is looked
 * at, for new tabs.
 */
export function withCarried(
  whole: string,
  link: BoardLink,
  variables: readonly Variable[],
  isOutside: boolean,
): string {
  const [address = "", ...rest] = whole.split("#");
  const own = new URLSearchParams(address.split("?")[1]);
  const all = carried(link.keepTime === true, link.includeVars === true, variables);
  if (!isOutside && tenant.value) all.push(["tenant", tenant.value]);
  const more = new URLSearchParams(all.filter(([name]) => !own.has(name))).toString();
  if (more === "") return whole;
  return [address + (address.includes("?") ? "&" : "?") + more, ...rest].join("#");
}

interface LinkProps {
  link: BoardLink;
  variables: readonly Variable[];
}

function One({ link, variables }: LinkProps) {
  const address = safeAddress(link.url ?? "");
  if (address === undefined) return <span class="muted">{link.title}</span>;
  const isOutside = /^https?:/i.test(address);
  const full = withCarried(address, link, variables, isOutside);
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

function ByTag({ link, variables }: LinkProps) {
  const asked = useAsk((signal) => listDashboards(signal), []);
  const tags = link.tags ?? [];
  const found = (asked.data ?? []).filter((one) => tags.every((tag) => one.tags.includes(tag)));
  const anchors = found.map((one) => (
    <a key={one.uid} href={href(withCarried(`/d/${encodeURIComponent(one.uid)}`, link, variables, false))}>
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
