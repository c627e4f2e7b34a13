/** Options of a panel that all kinds have. */
import { KINDS, needsData } from "../../../panels";
import { unitChoices } from "../../../ui/units";
import { member } from "../change";
import { ChoiceOf, type Form, JsonField, NumberOf, SwitchOf, TextOf } from "./fields";
import { OfKind } from "./ofkind";
import { Mappings, Thresholds } from "./steps";

const FIELD = ["fieldConfig", "defaults"];

export function Options({ form }: { form: Form }) {
  const type = String(member(form.panel, ["type"]) ?? "");
  return (
    <div class="stack form">
      <TextOf form={form} path={["title"]} label="Title" />
      <ChoiceOf form={form} path={["type"]} label="Kind" options={KINDS} otherwise="timeseries" />
      <TextOf form={form} path={["description"]} label="Description" />
      <SwitchOf form={form} path={["transparent"]} label="Without frame" />
      <Place form={form} />
      <OfKind form={form} type={type} />
      {needsData(type) && <Values form={form} />}
      {needsData(type) && <Thresholds form={form} />}
      {needsData(type) && <Mappings form={form} />}
      <fieldset class="stack form-part">
        <legend>Repeat</legend>
        <TextOf form={form} path={["repeat"]} label="By variable" />
        <ChoiceOf
          form={form}
          path={["repeatDirection"]}
          label="Direction"
          options={[
            ["h", "Beside"],
            ["v", "Below"],
          ]}
          otherwise="h"
        />
        <NumberOf form={form} path={["maxPerRow"]} label="Beside at most" />
      </fieldset>
      <JsonField
        label="Transformations"
        expected="list"
        value={member(form.panel, ["transformations"]) ?? []}
        onChange={(value) => form.set(["transformations"], value)}
      />
      <JsonField
        label="Overrides"
        expected="list"
        value={member(form.panel, ["fieldConfig", "overrides"]) ?? []}
        onChange={(value) => form.set(["fieldConfig", "overrides"], value)}
      />
    </div>
  );
}

function Place({ form }: { form: Form }) {
  return (
    <fieldset class="row form-part">
      <legend>Place</legend>
      {(["x", "y", "w", "h"] as const).map((name) => (
        <NumberOf
          key={name}
          form={form}
          path={["gridPos", name]}
          label={{ x: "Column", y: "Row", w: "Columns", h: "Rows" }[name]}
        />
      ))}
    </fieldset>
  );
}

const COLOR_MODES = [
  ["palette-classic", "Palette"],
  ["palette-classic-by-name", "Palette by name"],
  ["thresholds", "Thresholds"],
  ["fixed", "One colour"],
  ["continuous-GrYlRd", "Green to red"],
  ["continuous-BlPu", "Blue to purple"],
  ["continuous-viridis", "Viridis"],
] as const;

function Values({ form }: { form: Form }) {
  return (
    <fieldset class="stack form-part">
      <legend>Values</legend>
      <ChoiceOf form={form} path={[...FIELD, "unit"]} label="Unit" options={unitChoices()} otherwise="none" />
      <NumberOf form={form} path={[...FIELD, "decimals"]} label="Decimals" />
      <NumberOf form={form} path={[...FIELD, "min"]} label="Least" />
      <NumberOf form={form} path={[...FIELD, "max"]} label="Greatest" />
      <TextOf form={form} path={[...FIELD, "displayName"]} label="Name" />
      <TextOf form={form} path={[...FIELD, "noValue"]} label="Without value" />
      <ChoiceOf
        form={form}
        path={[...FIELD, "color", "mode"]}
        label="Colours"
        options={COLOR_MODES}
        otherwise="palette-classic"
      />
      {member(form.panel, [...FIELD, "color", "mode"]) === "fixed" && (
        <TextOf form={form} path={[...FIELD, "color", "fixedColor"]} label="Colour" />
      )}
    </fieldset>
  );
}
