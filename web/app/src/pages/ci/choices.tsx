/** Which repository, which branch: what is chosen is in the address. */
import { param, setParams } from "../../frame/router";
import { SelectField } from "../../ui/field";

export function Choices({
  repositories,
  branches,
}: {
  repositories: readonly string[];
  branches: readonly string[];
}) {
  const chosen = (name: string) => param(name) ?? "";
  // What is chosen can be seen also where it has no runs.
  const options = (values: readonly string[], name: string, all: string) => {
    const list = chosen(name) && !values.includes(chosen(name)) ? [chosen(name), ...values] : values;
    return [["", all] as const, ...list.map((value) => [value, value] as const)];
  };
  return (
    <>
      <SelectField
        label="Repository"
        hideLabel
        value={chosen("repository")}
        options={options(repositories, "repository", "All repositories")}
        onChange={(repository) => setParams({ repository: repository || undefined })}
      />
      <SelectField
        label="Branch"
        hideLabel
        value={chosen("branch")}
        options={options(branches, "branch", "All branches")}
        onChange={(branch) => setParams({ branch: branch || undefined })}
      />
    </>
  );
}
