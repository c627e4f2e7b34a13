//! docs/configuration.md, made of the table of settings.

use super::setting::Setting;
use super::table::GROUPS;

const INTRODUCTION: &str = "\
# Configuration

`kymo serve` needs none. Every setting has a key in a YAML file, a flag and an environment variable. \
The first that has a value wins:

1. the flag, `--store-flush-after 5m`
2. the environment, `KYMO_STORE_FLUSH_AFTER=5m`
3. the file of variables that `--env-file FILE` (or `KYMO_ENV_FILE`) names
4. the YAML file that `--config FILE` (or `KYMO_CONFIG`, also in the file of variables) names
5. the default

`kymo config check` says what is wrong with a configuration: all of it, with line and column, and \
the nearest key where one is not known. `kymo config show` prints what holds and where each value \
is from. Both take the flags of `kymo serve`.

A dot in a key is a level in the file:

```yaml
http: 127.0.0.1:3200
store:
  url: s3://telemetry/prod
  flush_after: 5m
retention:
  logs: {max_age: 30d}
tenants:
  team-a:
    limits: {max_attributes: 500}
    retention: {spans: {max_bytes: 200GiB}}
```

- Durations have units: `500ms`, `10s`, `10m`, `1h30m`, `30d`, `2w`.
- Sizes have units: `128MiB`, `1GiB` (1024s), `1GB` (1000s); a plain number is bytes.
- `none` is the absence of a limit; in YAML also `null`.
- An environment variable that is empty counts as not set. One that begins with `KYMO_` and is not \
known is warned about.
- A file of variables has lines of `KEY=VALUE`, as compose files and shells have them: `export` may \
stand in front, `#` behind a space begins a comment, and quotes around a value are not part of it; in \
double quotes `\\n`, `\\t`, `\\\"` and `\\\\` are what they are elsewhere. What is set twice has its last \
value. Names of Graphistry's `telemetry.env` are understood ([deploying](deploy.md)); a URL of Grafana \
that ends in `/grafana` is below the one of this server.
- `${env:NAME}` in a value of the YAML file is the environment variable, `${env:NAME:-words}` has words \
for one that is not set or empty, `$${env:NAME}` is the text itself. Variables of `--env-file` count too. \
One that is not set is an error.
- `kymo config show` hides secrets, also those in URLs; references to variables are shown as they are.
- Files have at most 8 MiB, in UTF-8. A key that is there twice is an error.

A switch that is on has a flag to switch it off: `--no-probe` is `--probe=false`. A destination has the \
key `enabled`, which may refer to a variable: `enabled: ${env:TO_HUB:-true}`.

Lists and other shapes stand in the YAML file only: `destinations` ([routing](routing.md)), `rules` \
([rules](rules.md)), `listeners`, `users`, `client_certificates`, `oidc` ([auth](auth.md), \
[TLS](tls.md)), `security_headers` ([proxy](proxy.md)).

Settings marked with * can have another value for a tenant, below `tenants: {NAME: …}` in the YAML \
file. What a tenant does not set has the value of all.

A bucket is reached with the `AWS_…` variables of the environment (`AWS_ACCESS_KEY_ID`, \
`AWS_SECRET_ACCESS_KEY`, `AWS_REGION`, `AWS_ENDPOINT_URL`, …).
";

/// The whole page.
pub(crate) fn markdown() -> String {
    let mut page = INTRODUCTION.to_owned();
    for group in GROUPS {
        page.push_str(&format!("\n## {}\n\n", group.title));
        page.push_str("| key | flag, variable | default | what it does |\n|---|---|---|---|\n");
        for setting in group.settings {
            page.push_str(&row(setting));
        }
    }
    page
}

fn row(setting: &Setting) -> String {
    let (key, flag, variable) = (setting.key, setting.flag(), setting.variable());
    let mark = if setting.per_tenant { " *" } else { "" };
    let default = match setting.default_text() {
        text if text.is_empty() => String::new(),
        text if setting.default.is_some() => text,
        text => format!("`{text}`"),
    };
    let about = setting.about;
    format!("| `{key}`{mark} | `--{flag}`<br>`{variable}` | {default} | {about} |\n")
}

#[cfg(test)]
mod tests {
    use super::super::resolve::{Inputs, resolve_inputs};

    /// `KYMO_TEST_WRITE_DOCS=1 cargo test --workspace --bin kymo` writes the page.
    #[test]
    fn the_page_in_docs_is_the_one_made_of_the_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
        let page = super::markdown();
        if std::env::var_os("KYMO_TEST_WRITE_DOCS").is_some() {
            std::fs::write(path, &page).unwrap();
        }
        let kept = std::fs::read_to_string(path).unwrap_or_default();
        assert!(kept == page, "run `kymo config docs > docs/configuration.md`");
    }

    #[test]
    fn the_example_in_the_page_is_a_configuration() {
        let page = super::markdown();
        let example = page.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next());
        let config_file = Some(("k.yaml".into(), example.unwrap().to_owned()));
        let inputs = Inputs { config_file, ..Inputs::default() };
        let resolved = resolve_inputs(inputs).unwrap();
        assert_eq!(resolved.config.server.store_url.as_deref(), Some("s3://telemetry/prod"));
    }
}
