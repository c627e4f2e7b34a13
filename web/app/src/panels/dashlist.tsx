/** Other dashboards, by what the panel is to list. */
import { getJson } from "../frame/api";
import { href } from "../frame/base";
import { link } from "../frame/router";
import { useAsk } from "../frame/useask";
import { Answer } from "../ui/states";
import { option, texts } from "./frame";
import type { PanelProps } from "./kinds";

interface Listed {
  uid: string;
  title: string;
  tags: string[];
}

/** The page of a dashboard, of the tenant that is looked at. */
export function addressOf(uid: string): string {
  return href(link(`/d/${encodeURIComponent(uid)}`));
}

export function DashList({ panel }: PanelProps) {
  const asked = useAsk((signal) => getJson<{ dashboards: Listed[] }>("/api/dashboards", {}, signal), []);
  const tags = texts(panel.options, "tags");
  const query = option(panel.options, "query", "").toLowerCase();
  const most = option(panel.options, "maxItems", 50);
  return (
    <Answer of={asked}>
      {(data) => (
        <ul class="dash-links">
          {data.dashboards
            .filter(
              (one) => tags.every((tag) => one.tags.includes(tag)) && one.title.toLowerCase().includes(query),
            )
            .slice(0, most)
            .map((one) => (
              <li key={one.uid}>
                <a href={addressOf(one.uid)}>{one.title}</a>
              </li>
            ))}
        </ul>
      )}
    </Answer>
  );
}
