/** What reducers made of a field, as text: in its unit and with its mappings, unless it is no value of the kind. */
import { display, whole } from "./display";
import type { Cell, Field } from "./frame";
import { keepsUnit } from "./tally";

/** What writes the results of a field. Made once for a field, called for each of its reducers. */
export function resultTexts(field: Field): (result: Cell, id: string) => string {
  const { mappings: _, unit: __, ...config } = field.config ?? {};
  const [show, showPlain] = [display(field), display({ ...field, config })];
  const text = (result: Cell, id: string): string =>
    Array.isArray(result)
      ? result.map((one) => text(one, "last")).join(", ")
      : whole((keepsUnit(id) ? show : showPlain)(result));
  return text;
}
