/** Traces: those that were found as a list that leads to each of them, a single one as its spans over time. */
import { useMemo } from "preact/hooks";
import { SelectField } from "../ui/field";
import type { PanelProps } from "./kinds";
import { NoData } from "./nodata";
import { OneTrace } from "./onetrace";
import { useRemembered } from "./remembered";
import { spanTree } from "./spantree";
import { TablePanel } from "./table";
import { withLinks } from "./tracelinks";

export function Traces(props: PanelProps) {
  const { frames, panel, width, height } = props;
  const trees = useMemo(() => frames.flatMap((frame) => spanTree(frame) ?? []), [frames]);
  const linked = useMemo(() => frames.map(withLinks), [frames]);
  const [chosen, setChosen] = useRemembered("trace", () => 0);
  if (!frames.some(({ fields }) => fields.some(({ values }) => values.length > 0)))
    return <NoData frames={frames} />;
  const tree = trees[Math.min(chosen, trees.length - 1)];
  if (!tree) return <TablePanel {...props} frames={linked} />;
  const names = trees.map(({ traceId }, at) => [String(at), `Trace ${traceId}`] as const);
  return (
    <div class="table-panel">
      <OneTrace tree={tree} title={panel.title} width={width} height={height - (trees.length > 1 ? 34 : 0)} />
      {trees.length > 1 && (
        <SelectField
          label="Trace"
          hideLabel
          value={String(trees.indexOf(tree))}
          options={names}
          onChange={(value) => setChosen(Number(value))}
        />
      )}
    </div>
  );
}
