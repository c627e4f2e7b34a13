/** Options of the common kinds of panels. Those of others are in the JSON. */
import { calcTitle } from "../../../panels/legend";
import { Check } from "../../../ui/field";
import { member } from "../change";
import { ChoiceOf, type Form, NumberOf, SwitchOf, TextOf } from "./fields";

const CUSTOM = ["fieldConfig", "defaults", "custom"];

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

/** Reducers as a list of switches, or one of them. */
function Calcs({ form, path, isOne }: { form: Form; path: readonly string[]; isOne?: boolean }) {
  const given = (member(form.panel, path) ?? []) as string[];
  if (isOne) {
    return (
      <ChoiceOf
        form={{
          ...form,
          panel: { calc: given[0] ?? "lastNotNull" },
          set: (_, value) => form.set(path, [value]),
        }}
        path={["calc"]}
        label="Value"
        options={CALCS.map((id) => [id, calcTitle(id)] as const)}
        otherwise="lastNotNull"
      />
    );
  }
  return (
    <div class="row">
      <span class="field-label">Values</span>
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

function Legend({ form }: { form: Form }) {
  const path = ["options", "legend"];
  return (
    <fieldset class="stack form-part">
      <legend>Legend</legend>
      <SwitchOf form={form} path={[...path, "showLegend"]} label="Shown" otherwise />
      <ChoiceOf
        form={form}
        path={[...path, "displayMode"]}
        label="As"
        options={[
          ["list", "List"],
          ["table", "Table"],
        ]}
        otherwise="list"
      />
      <ChoiceOf
        form={form}
        path={[...path, "placement"]}
        label="Where"
        options={[
          ["bottom", "Below"],
          ["right", "Right"],
        ]}
        otherwise="bottom"
      />
      <Calcs form={form} path={[...path, "calcs"]} />
    </fieldset>
  );
}

const STACKING = [
  ["none", "Beside each other"],
  ["normal", "Stacked"],
  ["percent", "Stacked, in percent"],
] as const;
const ORIENTATION = [
  ["auto", "By room"],
  ["horizontal", "Horizontal"],
  ["vertical", "Vertical"],
] as const;

/** The options that only one kind of panel has. */
export function OfKind({ form, type }: { form: Form; type: string }) {
  switch (type) {
    case "timeseries":
      return <TimeSeriesOptions form={form} />;
    case "stat":
    case "gauge":
    case "bargauge":
    case "piechart":
      return <ReducedOptions form={form} type={type} />;
    case "barchart":
      return (
        <>
          <fieldset class="stack form-part">
            <legend>Bars</legend>
            <TextOf form={form} path={["options", "xField"]} label="Names from field" />
            <ChoiceOf
              form={form}
              path={["options", "orientation"]}
              label="Direction"
              options={ORIENTATION}
              otherwise="auto"
            />
            <ChoiceOf
              form={form}
              path={["options", "stacking"]}
              label="Several values"
              options={STACKING}
              otherwise="none"
            />
            <ChoiceOf
              form={form}
              path={["options", "showValue"]}
              label="Values"
              options={[
                ["auto", "Where there is room"],
                ["always", "Always"],
                ["never", "Never"],
              ]}
              otherwise="auto"
            />
            <NumberOf form={form} path={["options", "xTickLabelRotation"]} label="Turn of names" />
          </fieldset>
          <Legend form={form} />
        </>
      );
    case "table":
      return (
        <fieldset class="stack form-part">
          <legend>Table</legend>
          <SwitchOf form={form} path={["options", "enablePagination"]} label="In pages" />
          <SwitchOf form={form} path={["options", "footer", "show"]} label="Sums below" />
          <SwitchOf form={form} path={[...CUSTOM, "filterable"]} label="Filters" />
          <ChoiceOf
            form={form}
            path={[...CUSTOM, "cellOptions", "type"]}
            label="Cells"
            options={[
              ["auto", "Text"],
              ["color-text", "Coloured text"],
              ["color-background", "Coloured background"],
              ["gauge", "Gauge"],
              ["sparkline", "Line"],
              ["json", "JSON"],
            ]}
            otherwise="auto"
          />
        </fieldset>
      );
    case "text":
      return (
        <fieldset class="stack form-part">
          <legend>Text</legend>
          <ChoiceOf
            form={form}
            path={["options", "mode"]}
            label="As"
            options={[
              ["markdown", "Markdown"],
              ["html", "HTML"],
              ["code", "Plain"],
            ]}
            otherwise="markdown"
          />
          <textarea
            aria-label="Text"
            rows={12}
            value={String(member(form.panel, ["options", "content"]) ?? "")}
            onInput={(event) => form.set(["options", "content"], event.currentTarget.value)}
          />
        </fieldset>
      );
    default:
      return null;
  }
}

function TimeSeriesOptions({ form }: { form: Form }) {
  return (
    <>
      <fieldset class="stack form-part">
        <legend>Drawing</legend>
        <ChoiceOf
          form={form}
          path={[...CUSTOM, "drawStyle"]}
          label="As"
          options={[
            ["line", "Lines"],
            ["bars", "Bars"],
            ["points", "Points"],
          ]}
          otherwise="line"
        />
        <ChoiceOf
          form={form}
          path={[...CUSTOM, "lineInterpolation"]}
          label="Between points"
          options={[
            ["linear", "Straight"],
            ["smooth", "Smooth"],
            ["stepBefore", "Steps before"],
            ["stepAfter", "Steps after"],
          ]}
          otherwise="linear"
        />
        <NumberOf form={form} path={[...CUSTOM, "lineWidth"]} label="Width" />
        <NumberOf form={form} path={[...CUSTOM, "fillOpacity"]} label="Fill, percent" />
        <ChoiceOf
          form={form}
          path={[...CUSTOM, "stacking", "mode"]}
          label="Several series"
          options={STACKING}
          otherwise="none"
        />
        <ChoiceOf
          form={form}
          path={[...CUSTOM, "scaleDistribution", "type"]}
          label="Scale"
          options={[
            ["linear", "Linear"],
            ["log", "Logarithmic"],
          ]}
          otherwise="linear"
        />
        <ChoiceOf
          form={form}
          path={[...CUSTOM, "thresholdsStyle", "mode"]}
          label="Thresholds"
          options={[
            ["off", "Not drawn"],
            ["line", "Lines"],
            ["dashed", "Dashed lines"],
            ["area", "Areas"],
          ]}
          otherwise="off"
        />
        <TextOf form={form} path={[...CUSTOM, "axisLabel"]} label="Label of the axis" />
        <NumberOf form={form} path={[...CUSTOM, "axisSoftMin"]} label="Soft least" />
        <NumberOf form={form} path={[...CUSTOM, "axisSoftMax"]} label="Soft greatest" />
        <SwitchOf form={form} path={[...CUSTOM, "spanNulls"]} label="Lines over gaps" />
        <ChoiceOf
          form={form}
          path={["options", "tooltip", "mode"]}
          label="Pointer says"
          options={[
            ["single", "One value"],
            ["multi", "All values"],
            ["none", "Nothing"],
          ]}
          otherwise="single"
        />
      </fieldset>
      <Legend form={form} />
    </>
  );
}

function ReducedOptions({ form, type }: { form: Form; type: string }) {
  const path = ["options", "reduceOptions"];
  return (
    <fieldset class="stack form-part">
      <legend>What is shown</legend>
      <SwitchOf form={form} path={[...path, "values"]} label="Each row" />
      <Calcs form={form} path={[...path, "calcs"]} isOne />
      <TextOf form={form} path={[...path, "fields"]} label="Fields, as /^name$/; empty for numbers" />
      <ChoiceOf
        form={form}
        path={["options", "orientation"]}
        label="Direction"
        options={ORIENTATION}
        otherwise="auto"
      />
      {type === "stat" && (
        <>
          <ChoiceOf
            form={form}
            path={["options", "colorMode"]}
            label="Colour of"
            options={[
              ["value", "Value"],
              ["background", "Background"],
              ["none", "Nothing"],
            ]}
            otherwise="value"
          />
          <ChoiceOf
            form={form}
            path={["options", "graphMode"]}
            label="Line below"
            options={[
              ["area", "Shown"],
              ["none", "Not shown"],
            ]}
            otherwise="area"
          />
          <ChoiceOf
            form={form}
            path={["options", "textMode"]}
            label="Text"
            options={[
              ["auto", "By number"],
              ["value", "Value"],
              ["value_and_name", "Value and name"],
              ["name", "Name"],
            ]}
            otherwise="auto"
          />
        </>
      )}
      {type === "bargauge" && (
        <ChoiceOf
          form={form}
          path={["options", "displayMode"]}
          label="Bars"
          options={[
            ["gradient", "Gradient"],
            ["basic", "Plain"],
            ["lcd", "Cells"],
          ]}
          otherwise="gradient"
        />
      )}
      {type === "piechart" && (
        <ChoiceOf
          form={form}
          path={["options", "pieType"]}
          label="As"
          options={[
            ["pie", "Pie"],
            ["donut", "Ring"],
          ]}
          otherwise="pie"
        />
      )}
    </fieldset>
  );
}
