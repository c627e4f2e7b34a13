/** Admin: parts of one page, each with its own address. */
import type { ComponentType } from "preact";
import { navigate, pageLink } from "../../frame/router";
import { PageBody } from "../../ui/page";
import { Empty } from "../../ui/states";
import { Tabs } from "../../ui/tabs";
import type { PageProps } from "..";
import { About } from "./about";
import "./admin.css";
import { Audience } from "./audience";
import { Cardinality } from "./cardinality";
import { Config } from "./config";
import { Destinations } from "./destinations";
import { Ingest } from "./ingest";
import { Overview } from "./overview";
import { Queries } from "./queries";
import { Storage } from "./storage";
import { Tokens } from "./tokens";

const PARTS: readonly { id: string; label: string; show: ComponentType }[] = [
  { id: "overview", label: "Overview", show: Overview },
  { id: "storage", label: "Storage", show: Storage },
  { id: "ingest", label: "Ingest", show: Ingest },
  { id: "cardinality", label: "Cardinality", show: Cardinality },
  { id: "queries", label: "Queries", show: Queries },
  { id: "destinations", label: "Destinations", show: Destinations },
  { id: "tokens", label: "Tokens", show: Tokens },
  { id: "audience", label: "Audience", show: Audience },
  { id: "config", label: "Configuration", show: Config },
  { id: "about", label: "About", show: About },
];

export default function Page({ params }: PageProps) {
  const id = params.part ?? "overview";
  const part = PARTS.find((one) => one.id === id);
  const Show = part?.show;
  return (
    <PageBody title={part ? `Admin: ${part.label}` : "Admin"}>
      <Tabs
        tabs={PARTS}
        current={id}
        onChange={(next) => navigate(pageLink(`/admin/${next}`))}
        label="Parts of Admin"
      />
      <div class="admin-part">{Show ? <Show /> : <Empty title={`Admin has no part ${id}`} />}</div>
    </PageBody>
  );
}
