//! Extensions: logins that receivers and exporters name, and what a collector shows of itself.

use crate::Translator;
use crate::document::{Map, Value};
use crate::model::{Component, Part};
use crate::section::{Section, Taken};

/// Extensions that are translated where they are named.
const LOGINS: [&str; 3] = ["basicauth", "bearertokenauth", "oidc"];

pub(crate) fn translate(translator: &mut Translator<'_>) {
    let collector = translator.collector;
    for component in collector.components.iter().filter(|known| known.part == Part::Extensions) {
        let name = component.entry.key.trim();
        let at = component.entry.key_at;
        let is_on = collector.extensions.iter().any(|named| named.value == name);
        if !is_on {
            translator
                .notes
                .noted(at, format!("extensions.{name}: service.extensions does not name it"));
            continue;
        }
        let why = match component.kind() {
            "health_check" | "healthcheckv2" => {
                "kymo answers at /healthz and /ready of the address http"
            }
            "pprof" => "left out; there is no such page",
            "zpages" => "left out; what a server does is at /metrics of the address http",
            "file_storage" | "db_storage" => "what waits lies on disk in the journal in any case",
            "memory_ballast" => "not needed",
            kind if LOGINS.contains(&kind) => continue,
            kind => {
                let what = format!("extensions.{name}: there is no extension {kind}");
                translator.notes.lost(at, what);
                continue;
            }
        };
        translator.notes.noted(at, format!("extensions.{name}: {why}"));
    }
    connectors(translator);
}

fn connectors(translator: &Translator<'_>) {
    let collector = translator.collector;
    for component in collector.components.iter().filter(|known| known.part == Part::Connectors) {
        let hint = match component.kind() {
            "spanmetrics" | "span_metrics" => {
                "; spans are counted without it, with its names if span_metrics.naming is collector"
            }
            "servicegraph" | "service_graph" => {
                "; the graph is made without it, see span_metrics.graph"
            }
            "routing" | "failover" | "roundrobin" | "forward" => {
                "; conditions of a destination's routes say what goes where"
            }
            _ => "",
        };
        let what = format!("connectors.{}: there are no connectors{hint}", component.entry.key);
        translator.notes.lost(component.entry.key_at, what);
    }
    for pipeline in collector.pipelines.iter().filter(|pipeline| !collector.is_fed(pipeline)) {
        let what = format!(
            "service.pipelines.{}: nothing that is received here leads to it",
            pipeline.name
        );
        translator.notes.lost(pipeline.at, what);
    }
}

fn named<'a>(login: &Taken<String>, translator: &Translator<'a>) -> Option<&'a Component<'a>> {
    let found = translator.collector.component(Part::Extensions, login.value.trim());
    if found.is_none() {
        let what =
            format!("extensions.{} is not defined, but named here", login.value.escape_debug());
        translator.notes.lost(login.at, what);
    }
    found
}

/// The login that an exporter uses, into its destination.
pub(crate) fn client_login(
    login: &Taken<String>,
    settings: &mut Map,
    headers: &mut Map,
    translator: &Translator<'_>,
) {
    let Some(component) = named(login, translator) else { return };
    let mut section = component.section(translator.notes);
    match component.kind() {
        "basicauth" => {
            section.noted(&["htpasswd"], "it is for receivers");
            if let Some(client) = section.section("client_auth") {
                settings.set_filled("basic", basic(client));
            }
            section.finish();
        }
        "bearertokenauth" => bearer(section, settings, headers),
        kind => {
            let what = format!("{}: destinations have no login by {kind}", section.path);
            translator.notes.lost(login.at, what);
        }
    }
}

fn basic(mut section: Section<'_>) -> Map {
    let mut basic = Map::default();
    for key in ["username", "password", "password_file"] {
        basic.set_some(key, section.text(key).map(|value| Value::text(value.value)));
    }
    section.lost(&["username_file"], "write the name as username, or as a variable");
    section.finish();
    basic
}

fn bearer(mut section: Section<'_>, settings: &mut Map, headers: &mut Map) {
    let scheme = section.text("scheme").map(|scheme| scheme.value);
    let header = section.text("header").map(|header| header.value);
    let is_usual = scheme.as_deref().is_none_or(|scheme| scheme == "Bearer")
        && header.as_deref().is_none_or(|header| header.eq_ignore_ascii_case("authorization"));
    let token = section.text("token").map(|token| token.value);
    let file = section.text("filename");
    match (token, file) {
        (_, Some(file)) if is_usual => {
            settings.set("bearer_file", Value::Text(file.value));
        }
        (Some(token), None) if is_usual => {
            settings.set("bearer", Value::Text(token));
        }
        (Some(token), None) => {
            let scheme = scheme.unwrap_or_else(|| "Bearer".to_owned());
            let value = format!("{scheme} {token}").trim_start().to_owned();
            headers.set(header.as_deref().unwrap_or("Authorization"), Value::Text(value));
        }
        (_, Some(file)) => {
            let what =
                format!("{}.filename: only a bearer token is read from a file", section.path);
            section.notes.lost(file.at, what);
        }
        (None, None) => {}
    }
    section.lost(&["tokens"], "destinations send one token");
    section.finish();
}

/// The login that a receiver asks for: its method, and whom it knows.
pub(crate) fn server_login(
    login: &Taken<String>,
    translator: &mut Translator<'_>,
) -> Option<&'static str> {
    let component = named(login, translator)?;
    let mut section = component.section(translator.notes);
    let method = match component.kind() {
        "basicauth" => {
            section.noted(&["client_auth"], "it is for exporters");
            if let Some(htpasswd) = section.section("htpasswd") {
                users(htpasswd, translator);
            }
            "basic"
        }
        "bearertokenauth" => {
            let why =
                "tokens are made with `kymo token` and kept as hashes; make one that may write";
            section.lost(&["token", "tokens", "filename"], why);
            section.noted(&["scheme", "header"], "it is the header Authorization with Bearer");
            "bearer"
        }
        "oidc" => {
            oidc(&mut section, &mut translator.out.oidc);
            "oidc"
        }
        kind => {
            let what = format!("{}: receivers have no login by {kind}", section.path);
            translator.notes.lost(login.at, what);
            return None;
        }
    };
    section.finish();
    Some(method)
}

/// Lines of `name:password`.
fn users(mut section: Section<'_>, translator: &mut Translator<'_>) {
    section.lost(&["file"], "write its users below users; passwords are hashed in another way");
    let Some(inline) = section.text("inline") else {
        section.finish();
        return;
    };
    for line in inline.value.lines().map(str::trim) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let Some((name, password)) = line.split_once(':') else {
            let what = format!("{}.inline: expected lines of NAME:PASSWORD", section.path);
            section.notes.lost(inline.at, what);
            continue;
        };
        if password.starts_with("$2")
            || password.starts_with("$apr1$")
            || password.starts_with("{SHA}")
        {
            let name = name.escape_debug();
            let what = format!(
                "{}.inline: the password of {name} is hashed in a way that is not known here; \
                 write a user with a new one below users",
                section.path
            );
            section.notes.lost(inline.at, what);
            continue;
        }
        let mut user = Map::of("name", Value::text(name));
        user.set("password", Value::text(password));
        user.set("roles", Value::texts(["write"]));
        if !translator.out.users.contains(&user.clone().into()) {
            translator.out.users.push(user.into());
        }
    }
    section.finish();
}

fn oidc(section: &mut Section<'_>, out: &mut Map) {
    for (key, ours) in [
        ("issuer_url", "issuer"),
        ("audience", "audience"),
        ("username_claim", "user_claim"),
        ("groups_claim", "roles_claim"),
    ] {
        out.set_some(ours, section.text(key).map(|value| Value::text(value.value)));
    }
    let what = format!("{}: say below oidc.roles which of its roles may write", section.path);
    section.notes.noted(section.at, what);
    section.lost(&["issuer_ca_path", "providers", "attribute"], "this has no counterpart");
}
