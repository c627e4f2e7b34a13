/** A value that leads somewhere: a link if there is one, a menu of them if there are several. */
import type { ComponentChildren } from "preact";
import { Popover } from "../ui/popover";
import type { Link } from "./links";

export function Anchor({ link, children }: { link: Link; children?: ComponentChildren }) {
  const outside = link.isOutside ? { target: "_blank", rel: "noopener noreferrer" } : {};
  return (
    <a href={link.href} title={link.title} {...outside}>
      {children ?? link.title}
    </a>
  );
}

export function Linked({ links, children }: { links: readonly Link[]; children: ComponentChildren }) {
  if (links.length === 0) return <>{children}</>;
  if (links.length === 1) return <Anchor link={links[0]!}>{children}</Anchor>;
  return (
    <Popover kind="quiet" label="Links" button={children}>
      {() => (
        <div class="linked-menu">
          {links.map((link) => (
            <Anchor key={link.title + link.href} link={link} />
          ))}
        </div>
      )}
    </Popover>
  );
}
