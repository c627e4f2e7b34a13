/** Marks a row of a table, or compares it with the one that is marked. The mark is in the address. */
import { href } from "../../frame/base";
import { link, param, setParams } from "../../frame/router";
import { Icon } from "../../ui/icon";
import "./bits.css";

export function Mark({ id, compare }: { id: string; compare: string }) {
  const marked = param("mark");
  const isMarked = marked === id;
  if (marked && !isMarked)
    return (
      <a class="mark" href={href(link(compare, { a: marked, b: id }))} title="Compare with the marked one">
        <Icon name="compare" size={14} /> compare
      </a>
    );
  const label = isMarked ? "Marked" : "Mark, to compare with another";
  return (
    <button
      type="button"
      class="mark"
      aria-pressed={isMarked}
      aria-label={label}
      title={label}
      onClick={() => setParams({ mark: isMarked ? undefined : id }, { replace: true })}
    >
      <Icon name="flag" size={14} />
    </button>
  );
}
