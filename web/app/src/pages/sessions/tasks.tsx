/** The table of tasks: filtered, sorted and divided into pages by the server; all of it in the address. */
import { getJson } from "../../frame/api";
import { href } from "../../frame/base";
import { link, param, setParams } from "../../frame/router";
import { type Asked, useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { SelectField, TextField } from "../../ui/field";
import { count, fullTime } from "../../ui/format";
import { Card } from "../../ui/page";
import { Answer, Empty } from "../../ui/states";
import { type Column, Table } from "../../ui/table";
import { seconds } from "../ci/bits";
import { figure, words } from "../ci/columns";
import { TaskState } from "./bits";
import type { Task, Tasks } from "./types";

const PAGE = 200;

function columns(trace: string | null, begin: number): Column<Task>[] {
  return [
    {
      id: "id",
      title: "Task",
      width: "minmax(130px, 1fr)",
      value: (task) => task.id,
      render: (task) =>
        trace && task.span_id ? (
          <a class="ellipsis" href={href(link(`/trace/${trace}`, { span: task.span_id }))}>
            {task.id}
          </a>
        ) : (
          <span class="ellipsis">{task.id}</span>
        ),
    },
    {
      id: "name",
      title: "Name",
      width: "minmax(120px, 1.2fr)",
      value: (task) => task.name,
      render: (task) => (
        <span class="ellipsis" title={task.executable ?? ""}>
          {task.name}
        </span>
      ),
    },
    {
      id: "status",
      title: "State",
      width: "112px",
      value: (task) => task.status,
      render: (task) => <TaskState status={task.status} />,
    },
    words("node", "Node", "minmax(80px, 0.7fr)", (task) => task.node),
    {
      id: "started",
      title: "Started after",
      width: "128px",
      align: "right",
      value: (task) => task.started_ms ?? undefined,
      render: (task) =>
        task.started_ms === null ? (
          <span class="muted">–</span>
        ) : (
          <span title={fullTime(task.started_ms)}>
            {seconds(Math.max(0, task.started_ms - begin) / 1000)}
          </span>
        ),
    },
    figure("wait", "Waited", (task) => task.wait_seconds, seconds, "90px"),
    figure("duration", "Ran", (task) => task.seconds, seconds, "90px"),
    {
      id: "error",
      title: "Error",
      width: "minmax(100px, 1.5fr)",
      render: (task) => (
        <span class="ellipsis bad" title={task.error_message ?? ""}>
          {[task.error_type, task.error_message].filter(Boolean).join(": ")}
        </span>
      ),
    },
  ];
}

function Pages({ told }: { told: Tasks }) {
  const last = told.offset + told.tasks.length;
  const to = (offset: number) => setParams({ offset: offset > 0 ? offset : undefined }, { replace: true });
  return (
    <span class="row">
      <span class="muted">
        {told.total === 0 ? "none" : `${count(told.offset + 1)} to ${count(last)} of ${count(told.total)}`}
      </span>
      <Button
        kind="quiet"
        icon="left"
        label="Tasks before"
        disabled={told.offset === 0}
        onClick={() => to(told.offset - PAGE)}
      />
      <Button
        kind="quiet"
        icon="right"
        label="Next tasks"
        disabled={last >= told.total}
        onClick={() => to(told.offset + PAGE)}
      />
    </span>
  );
}

/** How the table is ordered: by which column, and which way. */
function ordering(): { column: string; order: "asc" | "desc" } {
  const sort = param("sort") ?? "-started";
  return { column: sort.replace(/^-/, ""), order: sort.startsWith("-") ? "desc" : "asc" };
}

/**
 * The tasks that the address asks for, of the moment of a board, once for each board: the one that is shown,
 * not the one that is on its way.
 */
export function useTasks(id: string, at: string | undefined, board: unknown): Asked<Tasks> {
  const [state, q, node, offset] = [param("state"), param("q"), param("node"), param("offset")];
  const { column, order } = ordering();
  return useAsk(
    (signal) =>
      getJson<Tasks>(
        `/api/board/${encodeURIComponent(id)}/tasks`,
        { state, q, node, sort: column, order, offset, at, limit: PAGE },
        signal,
      ),
    [id, state, q, node, column, order, offset, board],
  );
}

interface TaskTableProps {
  asked: Asked<Tasks>;
  trace: string | null;
  begin: number;
  /** Nodes to choose from. */
  nodes: readonly string[];
}

export function TaskTable({ asked, trace, begin, nodes }: TaskTableProps) {
  const [state, q, node] = [param("state"), param("q"), param("node")];
  const { column, order } = ordering();
  const replace = { replace: true };
  return (
    <Card
      title="Tasks"
      actions={
        <>
          {state && (
            <Button
              kind="quiet"
              icon="close"
              onClick={() => setParams({ state: undefined, offset: undefined }, replace)}
            >
              {state.replaceAll(",", ", ").replaceAll("_", " ")}
            </Button>
          )}
          <TextField
            label="Find tasks"
            hideLabel
            type="search"
            placeholder="Id, name, node, error"
            value={q ?? ""}
            onChange={(text) => setParams({ q: text || undefined, offset: undefined }, replace)}
          />
          <SelectField
            label="Node"
            hideLabel
            value={node ?? ""}
            options={[["", "All nodes"], ...nodes.map((name) => [name, name] as const)]}
            onChange={(next) => setParams({ node: next || undefined, offset: undefined }, replace)}
          />
          {asked.data && <Pages told={asked.data} />}
        </>
      }
    >
      <Answer of={asked}>
        {(told) =>
          told.total === 0 ? (
            <Empty title="No such tasks">
              <p>Nothing matches what is chosen above.</p>
            </Empty>
          ) : (
            <Table
              columns={columns(trace, begin)}
              rows={told.tasks}
              label="Tasks"
              rowKey={(task) => task.id}
              height={Math.min(420, told.tasks.length * 28 + 4)}
              sorting={{ column, descending: order === "desc" }}
              onSort={(next) =>
                setParams({ sort: `${next.descending ? "-" : ""}${next.column}`, offset: undefined }, replace)
              }
            />
          )
        }
      </Answer>
    </Card>
  );
}
