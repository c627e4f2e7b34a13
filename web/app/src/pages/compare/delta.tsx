/** A difference as people read it: sign, amount, part; never by colour alone. */
import { token } from "../../frame/theme";
import { duration, percent } from "../../ui/format";
import { between } from "../../ui/shades";

/** How much longer B is than A. */
export function Delta({ nanos, of }: { nanos: number; of?: number }) {
  if (nanos === 0) return <span class="muted">=</span>;
  const part = of !== undefined && of > 0 ? ` ${percent(Math.abs(nanos) / of)}` : "";
  return nanos > 0 ? (
    <span class="compare-slower">
      ▲ +{duration(nanos)}
      <span class="compare-part">{part}</span>
    </span>
  ) : (
    <span class="compare-faster">
      ▼ −{duration(-nanos)}
      <span class="compare-part">{part}</span>
    </span>
  );
}

/** Grey for what is the same, red for what is slower in B, blue for what is faster: of -1 to 1. */
export function changeColor(part: number): string {
  const [same, slower, faster] = [token("--text-muted"), token("--bad"), token("--accent")];
  const weight = Math.min(1, Math.abs(part) * 1.6);
  return between([same, part > 0 ? slower : faster], Math.abs(part) < 0.02 ? 0 : 0.25 + 0.75 * weight);
}
