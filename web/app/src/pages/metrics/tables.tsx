/** Answers as tables of values at the end of the time shown, and as the server sent them. */
import { useMemo } from "preact/hooks";
import { param, setParams } from "../../frame/router";
import { Button, CopyButton } from "../../ui/button";
import { count } from "../../ui/format";
import { addressSorting } from "../../ui/sorting";
import { type Column, Table } from "../../ui/table";
import type { Sample } from "./ask";
import { numberOf } from "./series";

interface Row {
  labels: Readonly<Record<string, string>>;
  value: number;
  text: string;
}

/** Labels that are columns, unless all are asked for. */
const MOST_LABELS = 8;

export function InstantTable({
  samples,
  format,
}: {
  samples: readonly Sample[];
  format: (value: number) => string;
}) {
  const rows = useMemo(() => samples.map(rowOf), [samples]);
  const labels = useMemo(() => labelsOf(rows), [rows]);
  const wantsAll = param("columns") === "all";
  const columns = useMemo(
    () => columnsOf(wantsAll ? labels : labels.slice(0, MOST_LABELS), format),
    [labels, wantsAll],
  );
  return (
    <>
      {labels.length > MOST_LABELS && (
        <p class="row muted">
          {wantsAll ? "All" : `${MOST_LABELS} of`} {count(labels.length)} labels that differ are columns.
          <Button onClick={() => setParams({ columns: wantsAll ? undefined : "all" }, { replace: true })}>
            {wantsAll ? `The first ${MOST_LABELS}` : "All of them"}
          </Button>
        </p>
      )}
      <Table
        label="Values"
        columns={columns}
        rows={rows}
        rowKey={(_, at) => at}
        {...addressSorting({ column: "value", descending: true })}
      />
    </>
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

/** Labels that tell rows apart: what is the same everywhere tells nothing, unless there is one row. */
export function labelsOf(rows: readonly Pick<Row, "labels">[]): string[] {
  const names = [...new Set(rows.flatMap(({ labels }) => Object.keys(labels)))];
  const varied = names.filter((name) => new Set(rows.map(({ labels }) => labels[name])).size > 1);
  return varied.length > 0 ? varied : names;
}

function columnsOf(labels: readonly string[], format: (value: number) => string): Column<Row>[] {
  return [
    ...labels.map(
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
