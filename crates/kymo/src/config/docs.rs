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
http: 0.0.0.0:3200
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
- A file of variables has lines of `KEY=VALUE`; lines that begin with `#` are comments; quotes are \
part of the value.

- `${env:NAME}` in a value of the YAML file is the environment variable, `${env:NAME:-words}` has words \
for one that is not set, `$${env:NAME}` is the text itself. Variables of `--env-file` count too.

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
}
