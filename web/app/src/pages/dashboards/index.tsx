/** All dashboards: found by name and tag, with where they come from. */
import { useMemo, useState } from "preact/hooks";
import { href } from "../../frame/base";
import { link, param, paramAll, setParams } from "../../frame/router";
import { refreshes } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { SelectField, TextField } from "../../ui/field";
import { ago } from "../../ui/format";
import { Icon } from "../../ui/icon";
import { PageBody } from "../../ui/page";
import { Answer, Empty, ErrorBox } from "../../ui/states";
import { type Listed, listDashboards, type Origin } from "./model";
import { JustDeleted, remove } from "./restore";
import "./dashboards.css";

const ORIGINS = [
  ["", "All"],
  ["own", "Saved here"],
  ["shipped", "Shipped"],
  ["provisioned", "Provisioned"],
] as const;

const ORIGIN_WORDS: Record<Origin, string> = {
  own: "saved here",
  shipped: "shipped",
  provisioned: "from a file",
};

export default function Page() {
  const asked = useAsk((signal) => listDashboards(signal), [refreshes.value]);
  const [error, setError] = useState<Error | undefined>(undefined);
  const search = param("q") ?? "";
  const origin = param("origin") ?? "";
  const tags = paramAll("tag");
  const removeOne = async (one: Listed) => {
    setError(undefined);
    await remove(one).then((isDone) => isDone && asked.again(), setError);
  };
  return (
    <PageBody
      title="Dashboards"
      actions={
        <>
          <a class="button" href={href(link("/dashboards/import"))}>
            <Icon name="upload" /> Import
          </a>
          <a class="button button-primary" href={href(link("/d/new"))}>
            <Icon name="plus" /> New dashboard
          </a>
        </>
      }
    >
      <div class="row">
        <TextField
          type="search"
          label="Search"
          hideLabel
          placeholder="Search by title or tag"
          value={search}
          width="280px"
          onChange={(q) => setParams({ q: q || undefined }, { replace: true })}
        />
        <SelectField
          label="From"
          value={origin}
          options={ORIGINS}
          onChange={(value) => setParams({ origin: value || undefined })}
        />
        {tags.map((tag) => (
          <Button
            key={tag}
            icon="close"
            onClick={() => setParams({ tag: tags.filter((one) => one !== tag) })}
          >
            {tag}
          </Button>
        ))}
      </div>
      {error && <ErrorBox error={error} />}
      <JustDeleted onRestored={asked.again} />
      <Answer of={asked}>
        {(all) => <List all={all} search={search} origin={origin} tags={tags} onRemove={removeOne} />}
      </Answer>
    </PageBody>
  );
}

interface ListProps {
  all: readonly Listed[];
  search: string;
  origin: string;
  tags: readonly string[];
  onRemove: (one: Listed) => void;
}

function List({ all, search, origin, tags, onRemove }: ListProps) {
  const found = useMemo(() => {
    const words = search.toLowerCase().split(/\s+/).filter(Boolean);
    return all.filter((one) => {
      const text = `${one.title} ${one.tags.join(" ")} ${one.folder ?? ""}`.toLowerCase();
      return (
        words.every((word) => text.includes(word)) &&
        (origin === "" || one.kind === origin) &&
        tags.every((tag) => one.tags.includes(tag))
      );
    });
  }, [all, search, origin, tags.join("\u0001")]);
  if (found.length === 0) {
    return (
      <Empty title={all.length === 0 ? "There are no dashboards yet" : "No dashboard is like that"}>
        <p>
          <a href={href(link("/dashboards/import"))}>Import one of Grafana</a>, or{" "}
          <a href={href(link("/d/new"))}>make one</a>.
        </p>
      </Empty>
    );
  }
  return (
    <ul class="dash-list">
      {found.map((one) => (
        <li key={one.uid} class="dash-item">
          <a class="dash-title" href={href(link(`/d/${encodeURIComponent(one.uid)}`))}>
            {one.title}
          </a>
          <span class="dash-about muted ellipsis">
            {one.error ? <span class="bad">{one.error}</span> : one.folder}
          </span>
          <span class="dash-tags">
            {one.tags.map((tag) => (
              <button
                key={tag}
                type="button"
                class="badge dash-tag"
                onClick={() => setParams({ tag: [...new Set([...tags, tag])] })}
              >
                {tag}
              </button>
            ))}
          </span>
          <span class="muted">{ORIGIN_WORDS[one.kind]}</span>
          <span class="muted dash-when">{one.updated ? ago(one.updated) : ""}</span>
          <span class="dash-do">
            {one.kind === "own" && (
              <Button kind="quiet" icon="trash" label={`Delete ${one.title}`} onClick={() => onRemove(one)} />
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}
