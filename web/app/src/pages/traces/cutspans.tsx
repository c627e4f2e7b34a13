/** That of some traces more spans match than were answered: what this means for what is shown, and how to have more. */
import { setParams } from "../../frame/router";
import { Button } from "../../ui/button";
import { count } from "../../ui/format";
import { Warning } from "../../ui/states";
import type { FoundTrace } from "./found";
import { moreSpans } from "./search";

interface CutProps {
  traces: readonly FoundTrace[];
  /** How many spans were asked for of each trace. */
  spans: number;
}

/** Of how many traces spans that match are left out, and how many spans in all. */
export function cutOf(traces: readonly FoundTrace[]): { traces: number; spans: number } {
  const cut = { traces: 0, spans: 0 };
  for (const { matched, spans } of traces) {
    const left = matched - spans.length;
    if (left <= 0) continue;
    cut.traces += 1;
    cut.spans += left;
  }
  return cut;
}

/** Of rows of spans. */
export function CutRows({ traces, spans }: CutProps) {
  const cut = cutOf(traces);
  if (cut.spans === 0) return null;
  return (
    <Warning>
      {count(cut.spans)} more spans of these traces match: at most {count(spans)} of each are listed. A trace
      shows all of its own. <More spans={spans} />
    </Warning>
  );
}

/** Of rows of traces, with columns of what their spans have. */
export function CutColumns({ traces, spans }: CutProps) {
  const cut = cutOf(traces);
  if (cut.spans === 0) return null;
  const which = cut.traces === 1 ? "1 trace has" : `${count(cut.traces)} traces have`;
  return (
    <Warning>
      Columns of attributes show what the first {count(spans)} spans that match have: {which} more of them.{" "}
      <More spans={spans} />
    </Warning>
  );
}

function More({ spans }: { spans: number }) {
  const more = moreSpans(spans);
  if (more === undefined) return null;
  return (
    <Button onClick={() => setParams({ spans: more }, { replace: true })}>Up to {count(more)} of each</Button>
  );
}
