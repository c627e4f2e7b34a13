/** The queries of the page, as the address has them: `q`, `legend` and `off`, one of each for a query. */
import { paramAll, setParams } from "../../frame/router";

export interface MetricQuery {
  text: string;
  legend: string;
  isHidden: boolean;
}

/** More queries than this make no chart that anybody reads. */
export const MOST_QUERIES = 10;

export function queriesOfAddress(): MetricQuery[] {
  const legends = paramAll("legend");
  const hidden = paramAll("off");
  const list = paramAll("q")
    .slice(0, MOST_QUERIES)
    .map((text, at) => ({ text, legend: legends[at] ?? "", isHidden: hidden.includes(String(at)) }));
  return list.length === 0 ? [{ text: "", legend: "", isHidden: false }] : list;
}

export function setQueries(list: readonly MetricQuery[], options: { replace?: boolean } = {}): void {
  setParams(
    {
      q: list.map(({ text }) => text),
      legend: list.some(({ legend }) => legend !== "") ? list.map(({ legend }) => legend) : undefined,
      off: list.flatMap(({ isHidden }, at) => (isHidden ? [String(at)] : [])),
    },
    options,
  );
}
