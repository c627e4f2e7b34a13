/** Answers as tables of values at the end of the time shown, and as the server sent them. */
import { useMemo } from "preact/hooks";
import { CopyButton } from "../../ui/button";
import { count } from "../../ui/format";
import { type Column, Table } from "../../ui/table";
import type { Sample } from "./ask";
import { numberOf } from "./series";

interface Row {
  labels: Readonly<Record<string, string>>;
  value: number;
  text: string;
}

const MOST_LABELS = 8;

export function InstantTable({
  samples,
  format,
}: {
  samples: readonly Sample[];
  format: (value: number) => string;
}) {
  const rows = useMemo(() => samples.map(rowOf), [samples]);
  const columns = useMemo(() => columnsOf(rows, format), [rows]);
  return (
    <Table
      label="Values"
      columns={columns}
      rows={rows}
      rowKey={(_, at) => at}
      sorting={{ column: "value", descending: true }}
    />
  );
}

function rowOf({ metric, value, histogram }: Sample): Row {
  if (histogram) {
    const { count: all, sum } = histogram[1];
    return {
      labels: metric,
      value: numberOf(all),
      text: `${count(numberOf(all))} observations, sum ${count(numberOf(sum))}`,
    };
  }
  return { labels: metric, value: numberOf(value?.[1] ?? "NaN"), text: "" };
}

function columnsOf(rows: readonly Row[], format: (value: number) => string): Column<Row>[] {
  const names = [...new Set(rows.flatMap(({ labels }) => Object.keys(labels)))];
  const varied = names.filter((name) => new Set(rows.map(({ labels }) => labels[name])).size > 1);
  // What is the same everywhere tells nothing, unless there is one row.
  const shown = (varied.length > 0 ? varied : names).slice(0, MOST_LABELS);
  return [
    ...shown.map(
      (name): Column<Row> => ({
        id: `label ${name}`,
        title: name === "__name__" ? "metric" : name,
        render: ({ labels }) => <span title={labels[name]}>{labels[name] ?? ""}</span>,
        value: ({ labels }) => labels[name],
      }),
    ),
    {
      id: "value",
      title: "Value",
      width: "minmax(140px, 0.6fr)",
      align: "right",
      render: ({ value, text }) => <span title={String(value)}>{text || format(value)}</span>,
      // What is no number has no place in an order.
      value: ({ value }) => (Number.isNaN(value) ? undefined : value),
    },
  ];
}

const RAW_CHARACTERS = 200_000;

export function Raw({ of }: { of: unknown }) {
  const text = JSON.stringify(of, undefined, 1) ?? "";
  return (
    <section class="card">
      <div class="row">
        <CopyButton text={text}>Copy</CopyButton>
        {text.length > RAW_CHARACTERS && (
          <span class="muted">
            The first {count(RAW_CHARACTERS)} of {count(text.length)} characters; a copy has all.
          </span>
        )}
      </div>
      <pre class="raw">{text.slice(0, RAW_CHARACTERS)}</pre>
    </section>
  );
}
