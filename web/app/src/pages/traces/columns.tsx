/** Which attributes are columns of the results. */
import { useState } from "preact/hooks";
import { useAsk } from "../../frame/useask";
import { Check } from "../../ui/field";
import { Icon } from "../../ui/icon";
import { Popover } from "../../ui/popover";
import { Answer } from "../../ui/states";
import { allFields } from "./builder";

interface ColumnPickerProps {
  chosen: readonly string[];
  onChange: (chosen: string[]) => void;
}

export function ColumnPicker({ chosen, onChange }: ColumnPickerProps) {
  return (
    <Popover
      label="Choose attributes as columns"
      align="right"
      button={
        <>
          <Icon name="columns" /> Columns
        </>
      }
    >
      {() => <Choices chosen={chosen} onChange={onChange} />}
    </Popover>
  );
}

const MOST = 80;

function Choices({ chosen, onChange }: ColumnPickerProps) {
  const asked = useAsk(allFields, []);
  const [wanted, setWanted] = useState("");
  return (
    <div class="column-picker">
      <input
        type="search"
        aria-label="Find an attribute"
        placeholder="find an attribute"
        value={wanted}
        onInput={(event) => setWanted(event.currentTarget.value)}
      />
      <Answer of={asked}>
        {(fields) => <Fields fields={fields} wanted={wanted} chosen={chosen} onChange={onChange} />}
      </Answer>
    </div>
  );
}

function Fields({
  fields,
  wanted,
  chosen,
  onChange,
}: ColumnPickerProps & { fields: readonly string[]; wanted: string }) {
  const all = [...new Set([...chosen, ...fields])];
  const shown = all.filter((field) => field.toLowerCase().includes(wanted.toLowerCase()));
  return (
    <>
      {shown.length === 0 && <p class="muted">No attribute is called so in the time shown.</p>}
      {shown.slice(0, MOST).map((field) => (
        <Check
          key={field}
          label={<code>{field}</code>}
          checked={chosen.includes(field)}
          onChange={(checked) =>
            onChange(checked ? [...chosen, field] : chosen.filter((one) => one !== field))
          }
        />
      ))}
      {shown.length > MOST && <p class="muted">{shown.length - MOST} more: type to find them</p>}
    </>
  );
}
