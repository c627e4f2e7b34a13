/** Which attributes are columns of the results. */
import { useEffect, useState } from "preact/hooks";
import { Check } from "../../ui/field";
import { Icon } from "../../ui/icon";
import { Popover } from "../../ui/popover";
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
  const [fields, setFields] = useState<readonly string[]>([]);
  const [wanted, setWanted] = useState("");
  useEffect(() => {
    allFields().then(setFields);
  }, []);
  const all = [...new Set([...chosen, ...fields])];
  const shown = all.filter((field) => field.toLowerCase().includes(wanted.toLowerCase()));
  return (
    <div class="column-picker">
      <input
        type="search"
        aria-label="Find an attribute"
        placeholder="find an attribute"
        value={wanted}
        onInput={(event) => setWanted(event.currentTarget.value)}
      />
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
    </div>
  );
}
