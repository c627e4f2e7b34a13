//! Settings of who may connect and ask, and of the parts that can be switched off.

use super::setting::{Group, setting};
use super::value::Kind;

const CLIENT_CERTIFICATES: Kind = Kind::Choice(&["none", "optional", "required"]);
const VERSIONS: Kind = Kind::Choice(&["1.2", "1.3"]);

/// Certificates and logins of all listeners; `listeners:` in the file has what differs for one.
pub(crate) const TLS_AND_LOGIN: Group = Group {
    title: "TLS and login",
    settings: &[
        setting(
            "tls.certificate",
            Kind::File,
            |c| &mut c.server.access.tls.certificate,
            "Certificate of the server with those that issued it, in PEM. With it, all addresses \
             speak TLS. It is read again when it changes.",
        ),
        setting("tls.key", Kind::File, |c| &mut c.server.access.tls.key, "Its key, in PEM."),
        setting(
            "tls.client_ca",
            Kind::File,
            |c| &mut c.server.access.tls.client_ca,
            "Authorities whose certificates clients may show, in PEM.",
        ),
        setting(
            "tls.client_certificates",
            CLIENT_CERTIFICATES,
            |c| &mut c.server.access.tls.client_certificates,
            "Whether clients show a certificate.",
        ),
        setting(
            "tls.revoked",
            Kind::List,
            |c| &mut c.server.access.tls.revoked,
            "Lists of revoked certificates (CRL), in PEM or DER.",
        ),
        setting(
            "tls.min_version",
            VERSIONS,
            |c| &mut c.server.access.tls.min_version,
            "The least version of TLS.",
        ),
        setting(
            "auth",
            Kind::List,
            |c| &mut c.server.access.auth,
            "How all addresses want to know who asks: any of basic, bearer, client-certificate, \
             oidc. Nobody is asked if nothing is said.",
        ),
        setting(
            "insecure_listen",
            Kind::Switch,
            |c| &mut c.server.access.insecure_listen,
            "Whether addresses that others can reach may be without TLS or without login.",
        ),
        setting(
            "rules_hash_salt",
            Kind::Secret,
            |c| &mut c.rules_hash_salt,
            "What rules that hash values mix into them, so that nobody finds them by trying.",
        ),
        setting(
            "audience.attributes",
            Kind::List,
            |c| &mut c.server.audience.attributes,
            "Attributes that name the user whom a record is about, for flags that name none.",
        ),
        setting(
            "audience.unknown",
            Kind::Choice(&["nobody", "everybody"]),
            |c| &mut c.server.audience.unknown,
            "Whose records of unknown users are recorded where a new flag does not say.",
        ),
    ],
};

/// Parts of the main address. One that is off answers 404 and says so.
pub(crate) const PARTS: Group = Group {
    title: "Parts",
    settings: &[
        setting(
            "dashboards.paths",
            Kind::List,
            |c| &mut c.server.dashboard_paths,
            "Folders with dashboards: JSON as Grafana exports it, and Kubernetes ConfigMaps in YAML. \
             They are read again when they change.",
        ),
        setting("page.enabled", Kind::Switch, |c| &mut c.server.parts.page, "Pages for browsers.")
            .named("page", "PAGE"),
        setting("api.sql.enabled", Kind::Switch, |c| &mut c.server.parts.sql, "/api/sql.")
            .named("api-sql", "API_SQL"),
        setting(
            "api.sessions.enabled",
            Kind::Switch,
            |c| &mut c.server.parts.sessions,
            "/api/sessions.",
        )
        .named("api-sessions", "API_SESSIONS"),
        setting(
            "api.tempo.enabled",
            Kind::Switch,
            |c| &mut c.server.parts.tempo,
            "Tempo's API at /tempo, and over gRPC.",
        )
        .named("api-tempo", "API_TEMPO"),
        setting(
            "api.jaeger.enabled",
            Kind::Switch,
            |c| &mut c.server.parts.jaeger,
            "Jaeger's APIs at /jaeger, and over gRPC.",
        )
        .named("api-jaeger", "API_JAEGER"),
        setting(
            "api.prometheus.enabled",
            Kind::Switch,
            |c| &mut c.server.parts.prometheus,
            "Prometheus' API at /prometheus.",
        )
        .named("api-prometheus", "API_PROMETHEUS"),
        setting(
            "api.loki.enabled",
            Kind::Switch,
            |c| &mut c.server.parts.loki,
            "Loki's API at /loki.",
        )
        .named("api-loki", "API_LOKI"),
        setting(
            "api.grafana.enabled",
            Kind::Switch,
            |c| &mut c.server.parts.grafana,
            "Links of Grafana at /grafana.",
        )
        .named("api-grafana", "API_GRAFANA"),
        setting(
            "api.ofrep.enabled",
            Kind::Switch,
            |c| &mut c.server.parts.ofrep,
            "Flags for clients at /ofrep.",
        )
        .named("api-ofrep", "API_OFREP"),
    ],
};
