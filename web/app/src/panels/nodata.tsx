/** That a panel has nothing to draw, and why if something is known. */
import type { Field, Frame } from "./frame";

interface NoDataProps {
  frames: readonly Frame[];
  field?: Field;
  /** Why what came cannot be drawn. */
  why?: string;
  /** What is said about nothing having come. */
  notices?: readonly string[];
}

export function NoData({ frames, field, why, notices = [] }: NoDataProps) {
  const hasRows = frames.some(({ fields }) => fields.some(({ values }) => values.some((one) => one != null)));
  const text = field?.config?.noValue;
  return (
    <div class="panel-nodata">
      <p>{text ?? (hasRows ? "Nothing that this panel can draw" : "No data")}</p>
      {hasRows && (
        <p class="muted">
          {why ?? "The answer has no times with numbers. See it as a table in the menu of the panel."}
        </p>
      )}
      {notices.map((text) => (
        <p key={text} class="muted">
          {text}
        </p>
      ))}
    </div>
  );
}
