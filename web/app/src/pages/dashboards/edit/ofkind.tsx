/**
 * Options of the common kinds of panels. Those of others are in the JSON. What a kind can be told is a list
 * of fields; the form is made of it.
 */
import { calcTitle } from "../../../panels/legend";
import { Check } from "../../../ui/field";
import { member } from "../change";
import { ChoiceOf, type Form, NumberOf, SwitchOf, TextOf } from "./fields";

type Path = readonly string[];

/** A field of the form: the first of its choices is what holds without one. */
type Field = { label: string; path: Path } & (
  | { as: "choice"; options: readonly (readonly [string, string])[] }
  | { as: "text" | "number" | "area" }
  | { as: "switch"; otherwise?: boolean }
  | { as: "calcs"; isOne?: boolean }
);

interface Group {
  legend: string;
  fields: readonly Field[];
}

const custom = (...path: string[]): Path => ["fieldConfig", "defaults", "custom", ...path];
const options = (...path: string[]): Path => ["options", ...path];

const choice = (
  label: string,
  path: Path,
  first: readonly [string, string],
  ...others: (readonly [string, string])[]
): Field => ({ as: "choice", label, path, options: [first, ...others] });

const plain = (as: "text" | "number" | "switch" | "area", label: string, path: Path): Field => ({
  as,
  label,
  path,
});

const STACKING = [
  ["none", "Beside each other"],
  ["normal", "Stacked"],
  ["percent", "Stacked, in percent"],
] as const;

const ORIENTATION = choice(
  "Direction",
  options("orientation"),
  ["auto", "By room"],
  ["horizontal", "Horizontal"],
  ["vertical", "Vertical"],
);

const LEGEND: Group = {
  legend: "Legend",
  fields: [
    { as: "switch", label: "Shown", path: options("legend", "showLegend"), otherwise: true },
    choice("As", options("legend", "displayMode"), ["list", "List"], ["table", "Table"]),
    choice("Where", options("legend", "placement"), ["bottom", "Below"], ["right", "Right"]),
    { as: "calcs", label: "Values", path: options("legend", "calcs") },
  ],
};

const REDUCED: readonly Field[] = [
  plain("switch", "Each row", options("reduceOptions", "values")),
  { as: "calcs", label: "Value", path: options("reduceOptions", "calcs"), isOne: true },
  plain("text", "Fields, as /^name$/; empty for numbers", options("reduceOptions", "fields")),
  ORIENTATION,
];

const reduced = (...fields: Field[]): readonly Group[] => [
  { legend: "What is shown", fields: [...REDUCED, ...fields] },
];

const GROUPS: Readonly<Record<string, readonly Group[]>> = {
  timeseries: [
    {
      legend: "Drawing",
      fields: [
        choice("As", custom("drawStyle"), ["line", "Lines"], ["bars", "Bars"], ["points", "Points"]),
        choice(
          "Between points",
          custom("lineInterpolation"),
          ["linear", "Straight"],
          ["smooth", "Smooth"],
          ["stepBefore", "Steps before"],
          ["stepAfter", "Steps after"],
        ),
        plain("number", "Width", custom("lineWidth")),
        plain("number", "Fill, percent", custom("fillOpacity")),
        choice("Several series", custom("stacking", "mode"), ...STACKING),
        choice("Scale", custom("scaleDistribution", "type"), ["linear", "Linear"], ["log", "Logarithmic"]),
        choice(
          "Thresholds",
          custom("thresholdsStyle", "mode"),
          ["off", "Not drawn"],
          ["line", "Lines"],
          ["dashed", "Dashed lines"],
          ["area", "Areas"],
        ),
        plain("text", "Label of the axis", custom("axisLabel")),
        plain("number", "Soft least", custom("axisSoftMin")),
        plain("number", "Soft greatest", custom("axisSoftMax")),
        plain("switch", "Lines over gaps", custom("spanNulls")),
        choice(
          "Pointer says",
          options("tooltip", "mode"),
          ["single", "One value"],
          ["multi", "All values"],
          ["none", "Nothing"],
        ),
      ],
    },
    LEGEND,
  ],
  stat: reduced(
    choice(
      "Colour of",
      options("colorMode"),
      ["value", "Value"],
      ["background", "Background"],
      ["none", "Nothing"],
    ),
    choice("Line below", options("graphMode"), ["area", "Shown"], ["none", "Not shown"]),
    choice(
      "Text",
      options("textMode"),
      ["auto", "By number"],
      ["value", "Value"],
      ["value_and_name", "Value and name"],
      ["name", "Name"],
    ),
  ),
  gauge: reduced(),
  bargauge: reduced(
    choice("Bars", options("displayMode"), ["gradient", "Gradient"], ["basic", "Plain"], ["lcd", "Cells"]),
  ),
  piechart: reduced(choice("As", options("pieType"), ["pie", "Pie"], ["donut", "Ring"])),
  barchart: [
    {
      legend: "Bars",
      fields: [
        plain("text", "Names from field", options("xField")),
        ORIENTATION,
        choice("Several values", options("stacking"), ...STACKING),
        choice(
          "Values",
          options("showValue"),
          ["auto", "Where there is room"],
          ["always", "Always"],
          ["never", "Never"],
        ),
        plain("number", "Turn of names", options("xTickLabelRotation")),
      ],
    },
    LEGEND,
  ],
  table: [
    {
      legend: "Table",
      fields: [
        plain("switch", "In pages", options("enablePagination")),
        plain("switch", "Sums below", options("footer", "show")),
        plain("switch", "Filters", custom("filterable")),
        choice(
          "Cells",
          custom("cellOptions", "type"),
          ["auto", "Text"],
          ["color-text", "Coloured text"],
          ["color-background", "Coloured background"],
          ["gauge", "Gauge"],
          ["sparkline", "Line"],
          ["json", "JSON"],
        ),
      ],
    },
  ],
  text: [
    {
      legend: "Text",
      fields: [
        choice("As", options("mode"), ["markdown", "Markdown"], ["html", "HTML"], ["code", "Plain"]),
        plain("area", "Text", options("content")),
      ],
    },
  ],
};

/** The options that only one kind of panel has. */
export function OfKind({ form, type }: { form: Form; type: string }) {
  const groups = Object.hasOwn(GROUPS, type) ? GROUPS[type]! : [];
  return (
    <>
      {groups.map(({ legend, fields }) => (
        <fieldset key={legend} class="stack form-part">
          <legend>{legend}</legend>
          {fields.map((field) => (
            <FieldOf key={field.path.join(".")} form={form} field={field} />
          ))}
        </fieldset>
      ))}
    </>
  );
}

function FieldOf({ form, field }: { form: Form; field: Field }) {
  const of = { form, path: field.path, label: field.label };
  switch (field.as) {
    case "choice":
      return <ChoiceOf {...of} options={field.options} otherwise={field.options[0]![0]} />;
    case "switch":
      return <SwitchOf {...of} otherwise={field.otherwise} />;
    case "calcs":
      return field.isOne ? <Calc {...of} /> : <Calcs {...of} />;
    case "number":
      return <NumberOf {...of} />;
    case "text":
      return <TextOf {...of} />;
    case "area":
      return <Area {...of} />;
  }
}

interface Of {
  form: Form;
  path: Path;
  label: string;
}

function Area({ form, path, label }: Of) {
  return (
    <textarea
      aria-label={label}
      rows={12}
      value={String(member(form.panel, path) ?? "")}
      onInput={(event) => form.set(path, event.currentTarget.value)}
    />
  );
}

const CALCS = [
  "lastNotNull",
  "last",
  "first",
  "min",
  "max",
  "mean",
  "median",
  "sum",
  "count",
  "range",
  "stdDev",
  "p95",
  "p99",
];

/** Reducers as a list of switches. */
function Calcs({ form, path, label }: Of) {
  const given = (member(form.panel, path) ?? []) as string[];
  return (
    <div class="row">
      <span class="field-label">{label}</span>
      {CALCS.map((id) => (
        <Check
          key={id}
          label={calcTitle(id)}
          checked={given.includes(id)}
          onChange={(isOn) => form.set(path, isOn ? [...given, id] : given.filter((one) => one !== id))}
        />
      ))}
    </div>
  );
}

/** One reducer, which the JSON has as a list. */
function Calc({ form, path, label }: Of) {
  const given = (member(form.panel, path) ?? []) as string[];
  const one: Form = { panel: { calc: given[0] }, set: (_, value) => form.set(path, [value]) };
  return (
    <ChoiceOf
      form={one}
      path={["calc"]}
      label={label}
      options={CALCS.map((id) => [id, calcTitle(id)] as const)}
      otherwise={CALCS[0]!}
    />
  );
}
