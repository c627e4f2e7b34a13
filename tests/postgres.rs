//! PostgreSQL's protocol with real clients: `psql` and psycopg.
//!
//! `psql` is in Debian's postgresql-client; psycopg is there after `scripts/clients install`.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::fs;
use std::net::SocketAddr;
use std::process::Command;

use harness::programs::{Ran, clean, clients, kymo, left_out, python, repository, run};
use harness::{Encoding, Server, Signal};

const TRACE: &str = "5b8efff798038103d269b633813fc60c";

/// A server that speaks it, with the shop's traces, logs and metrics.
fn server(flags: &[&str]) -> Server {
    let mut all = vec!["--postgres", "127.0.0.1:0"];
    all.extend(flags);
    Server::with(&all)
}

fn shop(server: &Server) {
    for (signal, file) in [
        (Signal::Traces, "shop_traces.jsonl"),
        (Signal::Logs, "shop_logs.jsonl"),
        (Signal::Metrics, "shop_metrics.jsonl"),
    ] {
        let lines = fs::read_to_string(repository("tests/sql").join(file)).unwrap();
        for line in lines.lines() {
            server.send(signal, Encoding::Json, line.as_bytes().to_vec()).expect(200);
        }
    }
}

fn address(server: &Server) -> SocketAddr {
    let line = server.start_lines.iter().find(|line| line.starts_with("postgres "));
    let line = line.unwrap_or_else(|| panic!("{:?}", server.start_lines));
    line.split("//").nth(1).unwrap().split('/').next().unwrap().parse().unwrap()
}

/// Whether there is `psql`; if not, says what is left out.
fn has_psql(what: &str) -> bool {
    let is_there = Command::new("psql").arg("--version").output().is_ok();
    if !is_there {
        left_out(&format!("{what} (install postgresql-client)"));
    }
    is_there
}

/// Asks by `psql`, with settings of a connection beside host and port.
fn psql(address: SocketAddr, connection: &str, commands: &[&str]) -> Ran {
    let mut command = Command::new("psql");
    clean(&mut command);
    let place = format!("host={} port={} {connection}", address.ip(), address.port());
    command.args(["-X", "--no-password", "-v", "ON_ERROR_STOP=1", "-d", &place]);
    for text in commands {
        command.args(["-c", text]);
    }
    run(&mut command)
}

const OPEN: &str = "user=ada dbname=default";

#[test]
fn psql_finds_tables_columns_and_functions() {
    if !has_psql("what psql shows of tables") {
        return;
    }
    let server = server(&[]);
    shop(&server);
    let address = address(&server);
    let shown = |command: &str| psql(address, OPEN, &[command]).expect(0).stdout;
    for command in ["\\dt", "\\d"] {
        let tables = shown(command);
        for table in ["events", "links", "logs", "points", "spans"] {
            assert!(tables.contains(&format!(" public | {table} ")), "{command}\n{tables}");
        }
        assert!(!tables.contains("pg_class"), "{tables}");
    }
    let columns = shown("\\d spans");
    for line in [
        "Table \"public.spans\"",
        " trace_id             | text ",
        " start_time           | timestamp with time zone |",
        " duration_nanos       | bigint ",
        " attributes           | json ",
    ] {
        assert!(columns.contains(line), "{line}\n{columns}");
    }
    assert!(shown("\\d points").contains("bucket_bounds | double precision[]"));
    let traces = shown("\\d traces");
    for line in [" span_count     | bigint ", " services       | text[] "] {
        assert!(traces.contains(line), "{line}\n{traces}");
    }
    assert!(shown("\\dt+").contains("spans of traces"));
    assert!(shown("\\l").contains(" default | kymo "));
    assert!(shown("\\dn").contains(" public | kymo"));
    assert!(shown("\\df date_trunc").contains(" public | date_trunc "));
    assert!(shown("\\dt pg_catalog.pg_t*").contains("pg_type"));
    assert!(shown("\\conninfo").contains("database \"default\" as user \"ada\""));
    assert!(shown("\\d+ logs").contains("Access method: heap"));
    assert!(shown("\\dp").contains(" public | spans "));
    assert!(shown("\\dT+ text").contains(" pg_catalog | text "));
    for command in ["\\dv", "\\di", "\\du", "\\dx", "\\ds", "\\dS spans", "\\dT", "\\dTS"] {
        psql(address, OPEN, &[command]).expect(0);
    }
}

#[test]
fn psql_joins_signals_and_prints_types_as_postgresql_does() {
    if !has_psql("what psql prints") {
        return;
    }
    let server = server(&[]);
    shop(&server);
    let address = address(&server);
    let lines = |query: &str| {
        let ran = psql(address, OPEN, &["\\pset format unaligned", "\\pset tuples_only", query]);
        let lines = ran.expect(0).stdout;
        lines.lines().skip(2).map(str::to_owned).collect::<Vec<String>>()
    };
    let joined = lines(
        "SELECT s.name, s.\"resource.service.name\", l.severity, l.body FROM spans s \
         JOIN logs l ON s.trace_id = l.trace_id AND s.span_id = l.span_id ORDER BY l.time",
    );
    assert_eq!(joined.len(), 2, "{joined:?}");
    assert!(joined[1].starts_with("charge|payment|") && joined[1].ends_with("card refused: 51"));
    let typed = lines(&format!(
        "SELECT trace_id, start_time, duration_nanos, kind, parent_span_id, status = 'error' \
         FROM spans WHERE trace_id = '{TRACE}' ORDER BY start_time LIMIT 1"
    ));
    assert_eq!(typed, [format!("{TRACE}|2026-01-01 10:00:00+00|250000000|server||f")]);
    let lists = lines(
        "SELECT bucket_bounds, bucket_counts FROM points WHERE bucket_bounds IS NOT NULL LIMIT 1",
    );
    assert!(lists[0].starts_with('{') && lists[0].contains("}|{"), "{lists:?}");
    let json = lines("SELECT attributes FROM spans WHERE name = 'GET /cart'");
    assert!(json[0].contains("\"http.request.method\":\"GET\""), "{json:?}");
    assert_eq!(lines("SELECT count(*), 1 AS one, 1 AS one FROM spans"), ["7|1|1"]);
    let several = psql(address, OPEN, &["SELECT 1 AS a; SELECT count(*) FROM logs"]).expect(0);
    assert!(several.stdout.contains("(1 row)"), "{}", several.stdout);
    let expanded = psql(address, OPEN, &["\\x", "SELECT * FROM spans LIMIT 1"]).expect(0).stdout;
    assert!(expanded.contains("trace_id ") && !expanded.contains("resource.service.name |"));
}

/// What programs send before anybody asked for anything.
const OPENING: &[&str] = &[
    // Grafana: the version, whether it is TimescaleDB, tables, columns.
    "SELECT current_setting('server_version_num')::int/100 as version",
    "SELECT extversion FROM pg_extension WHERE extname = 'timescaledb'",
    "select CASE WHEN quote_ident(table_schema) IN (SELECT CASE WHEN trim(s[i]) = '\"$user\"' THEN \
     user ELSE trim(s[i]) END FROM generate_series(array_lower(string_to_array(current_setting(\
     'search_path'),','),1), array_upper(string_to_array(current_setting('search_path'),','),1)) as \
     i, string_to_array(current_setting('search_path'),',') s) THEN quote_ident(table_name) ELSE \
     quote_ident(table_schema) || '.' || quote_ident(table_name) END AS \"table\" from \
     information_schema.tables where quote_ident(table_schema) not in ('information_schema', \
     'pg_catalog', '_timescaledb_cache') order by 1",
    "select quote_ident(column_name) as \"column\", data_type as \"type\" from \
     information_schema.columns where CASE WHEN array_length(parse_ident('spans'),1) = 2 THEN \
     quote_ident(table_schema) = (parse_ident('spans'))[1] AND quote_ident(table_name) = \
     (parse_ident('spans'))[2] ELSE quote_ident(table_name) = 'spans' AND quote_ident(table_schema) \
     IN (SELECT CASE WHEN trim(s[i]) = '\"$user\"' THEN user ELSE trim(s[i]) END FROM \
     generate_series(array_lower(string_to_array(current_setting('search_path'),','),1), \
     array_upper(string_to_array(current_setting('search_path'),','),1)) as i, \
     string_to_array(current_setting('search_path'),',') s) END",
    // Grafana: what its macros become.
    "SELECT \"start_time\" AS \"time\", duration_nanos FROM spans WHERE \"start_time\" BETWEEN \
     '2026-01-01T00:00:00Z' AND '2026-01-02T00:00:00Z' ORDER BY 1",
    "SELECT floor(extract(epoch from start_time)/300)*300 AS \"time\", count(*) AS n FROM spans \
     WHERE start_time BETWEEN '2026-01-01T00:00:00Z' AND '2026-01-02T00:00:00Z' GROUP BY 1 ORDER BY 1",
    "SELECT extract(epoch from start_time) >= 1767225600 FROM spans LIMIT 1",
    // JDBC and DBeaver.
    "SET extra_float_digits = 3",
    "SET application_name = 'DBeaver'",
    "SHOW search_path",
    "SHOW TRANSACTION ISOLATION LEVEL",
    "SELECT current_schema(),session_user",
    "SELECT n.oid,n.*,d.description FROM pg_catalog.pg_namespace n LEFT OUTER JOIN \
     pg_catalog.pg_description d ON d.objoid=n.oid AND d.objsubid=0 AND \
     d.classoid='pg_namespace'::regclass ORDER BY nspname",
    "SELECT db.oid,db.* FROM pg_catalog.pg_database db WHERE datname='default'",
    "SELECT c.oid,c.*,d.description,pg_catalog.pg_get_expr(c.relpartbound, c.oid) as \
     partition_expr, pg_catalog.pg_get_partkeydef(c.oid) as partition_key FROM pg_catalog.pg_class c \
     LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=c.oid AND d.objsubid=0 AND \
     d.classoid='pg_class'::regclass WHERE c.relnamespace=2200 AND c.relkind not in ('i','I','c')",
    "SELECT c.relname,a.*,pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) as \
     def_value,dsc.description,dep.objid FROM pg_catalog.pg_attribute a INNER JOIN \
     pg_catalog.pg_class c ON (a.attrelid=c.oid) LEFT OUTER JOIN pg_catalog.pg_attrdef ad ON \
     (a.attrelid=ad.adrelid AND a.attnum = ad.adnum) LEFT OUTER JOIN pg_catalog.pg_description dsc \
     ON (c.oid=dsc.objoid AND a.attnum = dsc.objsubid) LEFT OUTER JOIN pg_depend dep on \
     dep.refobjid = a.attrelid AND dep.deptype = 'i' and dep.refobjsubid = a.attnum and dep.classid \
     = dep.refclassid WHERE NOT a.attisdropped AND c.relkind not in ('i','I','c') AND c.oid=16384 \
     ORDER BY a.attnum",
    "SELECT * FROM (SELECT current_database() AS current_database, n.nspname,c.relname,a.attname,\
     a.atttypid,a.attnotnull OR (t.typtype = 'd' AND t.typnotnull) AS attnotnull,a.atttypmod,\
     a.attlen,t.typtypmod,row_number() OVER (PARTITION BY a.attrelid ORDER BY a.attnum) AS attnum, \
     nullif(a.attidentity, '') as attidentity,nullif(a.attgenerated, '') as attgenerated,\
     pg_catalog.pg_get_expr(def.adbin, def.adrelid) AS adsrc,dsc.description,t.typbasetype,t.typtype \
     FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_class c ON (c.relnamespace = n.oid) JOIN \
     pg_catalog.pg_attribute a ON (a.attrelid=c.oid) JOIN pg_catalog.pg_type t ON (a.atttypid = \
     t.oid) LEFT JOIN pg_catalog.pg_attrdef def ON (a.attrelid=def.adrelid AND a.attnum = \
     def.adnum) LEFT JOIN pg_catalog.pg_description dsc ON (c.oid=dsc.objoid AND a.attnum = \
     dsc.objsubid) LEFT JOIN pg_catalog.pg_class dc ON (dc.oid=dsc.classoid AND \
     dc.relname='pg_class') LEFT JOIN pg_catalog.pg_namespace dn ON (dc.relnamespace=dn.oid AND \
     dn.nspname='pg_catalog') WHERE c.relkind in ('r','p','v','f','m') and a.attnum > 0 AND NOT \
     a.attisdropped AND c.relname LIKE 'spans') c WHERE true ORDER BY nspname,c.relname,attnum",
    "SELECT NULL AS TABLE_CAT, n.nspname AS TABLE_SCHEM, c.relname AS TABLE_NAME, CASE \
     n.nspname ~ '^pg_' OR n.nspname = 'information_schema' WHEN true THEN 'SYSTEM TABLE' ELSE \
     'TABLE' END AS TABLE_TYPE, d.description AS REMARKS FROM pg_catalog.pg_namespace n, \
     pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_description d ON (c.oid = d.objoid AND d.objsubid \
     = 0 and d.classoid = 'pg_class'::regclass) WHERE c.relnamespace = n.oid ORDER BY 4, 2, 3",
    // Drivers that look up types.
    "SELECT t.typname, t.oid, a.oid FROM pg_type t LEFT JOIN pg_type a ON t.typarray = a.oid WHERE \
     t.typname = 'int8'",
    "SELECT version()",
    "SELECT pg_catalog.set_config('search_path', '', false)",
    "BEGIN",
    "COMMIT",
    "DISCARD ALL",
    "select relname, n_live_tup from pg_stat_user_tables",
    "SELECT count(*) FROM pg_index",
];

#[test]
fn what_programs_ask_before_anybody_else_does_is_answered() {
    if !has_psql("what Grafana, JDBC and DBeaver ask first") {
        return;
    }
    let server = server(&[]);
    shop(&server);
    let ran = psql(address(&server), OPEN, OPENING);
    assert_eq!(ran.code, 0, "{}\n{}", ran.stdout, ran.stderr);
    let of = |nth: usize| psql(address(&server), OPEN, &[OPENING[nth]]).expect(0).stdout;
    assert!(of(0).contains("1500"), "{}", of(0));
    let tables = of(2);
    assert!(tables.contains(" spans") && tables.contains("(6 rows)"), "{tables}");
    assert!(of(3).contains(" start_time           | timestamp with time zone"), "{}", of(3));
    assert!(of(5).contains("(2 rows)") || of(5).contains("(3 rows)"), "{}", of(5));
}

#[test]
fn errors_have_a_code_and_a_place_and_nothing_is_written() {
    if !has_psql("how psql shows errors") {
        return;
    }
    let server = server(&[]);
    shop(&server);
    let address = address(&server);
    let failed = |query: &str| {
        let ran = psql(address, OPEN, &["\\set VERBOSITY verbose", query]);
        assert_ne!(ran.code, 0, "{query}: {}", ran.stdout);
        ran.stderr
    };
    for (query, code) in [
        ("SELECT * FROM span", "42P01"),
        ("SELECT nam FROM spans", "42703"),
        ("SELECT name FROM spans WHERE", "42601"),
        ("DROP TABLE spans", "25006"),
        ("INSERT INTO spans SELECT * FROM spans", "25006"),
        ("COPY spans TO STDOUT", "0A000"),
        ("SHOW nothing", "42704"),
        ("SELECT 'x'::regclass", "42P01"),
        ("FETCH 1 FROM nothing", "34000"),
    ] {
        let error = failed(query);
        assert!(error.contains(&format!("ERROR:  {code}:")), "{query}\n{error}");
    }
    let syntax = failed("SELECT name\nFROM spans\nWHERE )");
    assert!(syntax.contains("LINE 3: WHERE )"), "{syntax}");
    assert_eq!(server.number("SELECT count(*) FROM spans"), 7);
    // An error ends a transaction, not the connection.
    let script = server.place().join("transaction.sql");
    let text = "BEGIN;\nSELECT nothing;\nSELECT 1;\nROLLBACK;\nSELECT 'after' AS word;\n";
    fs::write(&script, text).unwrap();
    let mut command = Command::new("psql");
    clean(&mut command);
    let place = format!("host=127.0.0.1 port={} {OPEN}", address.port());
    let ran = run(command.args(["-X", "-d", &place, "-f"]).arg(&script));
    assert!(ran.stderr.contains("the transaction has failed"), "{}", ran.stderr);
    assert!(ran.stdout.contains("after"), "{}", ran.stdout);
}

#[test]
fn psycopg_asks_with_parameters_cursors_and_cancels() {
    let Some(clients) = clients("psycopg") else { return };
    let server = server(&[]);
    shop(&server);
    let address = address(&server);
    let script = repository("tests/clients/postgres.py");
    let ran = run(python(&clients).arg(script).arg(address.port().to_string()));
    assert_eq!(ran.code, 0, "{}\n{}", ran.stdout, ran.stderr);
    assert_eq!(ran.stdout.lines().last(), Some("done"), "{}", ran.stdout);
    assert!(server.metric("kymo_query_seconds_count", &["kind=\"postgres\""]) > 0.0);
}

#[test]
fn who_may_not_read_is_not_let_in_and_a_database_is_a_tenant() {
    if !has_psql("logins by psql") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let certs = place.path().join("certs");
    run(kymo().args(["certs", "new"]).arg(&certs)).expect(0);
    let file = place.path().join("kymo.yaml");
    let text = format!(
        "tls: {{certificate: {0}/server.pem, key: {0}/server.key}}\nauth: [basic, bearer]\n\
         listeners: {{http: {{auth: open}}, otlp_http: {{auth: open}}, otlp_grpc: {{auth: open}}}}\n\
         users:\n  - {{name: ada, password: secret, roles: [read], tenants: [team-a]}}\n\
         \x20 - {{name: sender, password: secret, roles: [write]}}\n",
        certs.display()
    );
    fs::write(&file, text).unwrap();
    let server = server(&["--config", file.to_str().unwrap()]);
    let address = address(&server);
    let login = |connection: &str, password: &str| {
        let place = format!(
            "host=127.0.0.1 port={} sslmode=verify-ca sslrootcert={}/ca.pem {connection}",
            address.port(),
            certs.display()
        );
        let mut command = Command::new("psql");
        clean(&mut command);
        command.env("PGPASSWORD", password).args(["-X", "-d", &place, "-t", "-A"]);
        run(command.args(["-c", "SELECT current_database(), count(*) FROM spans"]))
    };
    let ran = login("user=ada dbname=team-a", "secret").expect(0);
    assert_eq!(ran.stdout.trim(), "team-a|0");
    // The one tenant of a login is meant where no other is named.
    assert_eq!(login("user=ada", "secret").expect(0).stdout.trim(), "team-a|0");
    for (connection, password, word) in [
        ("user=ada dbname=team-a", "wrong", "the credentials are not valid"),
        ("user=ada dbname=team-b", "secret", "tenant"),
        ("user=sender dbname=team-a", "secret", "read"),
        ("user=nobody dbname=team-a", "secret", "FATAL"),
    ] {
        let ran = login(connection, password);
        assert_eq!(ran.code, 2, "{connection}: {}", ran.stdout);
        assert!(ran.stderr.contains("FATAL"), "{connection}: {}", ran.stderr);
        assert!(ran.stderr.contains(word), "{connection}: {}", ran.stderr);
    }
    let plain = psql(address, "user=ada dbname=team-a sslmode=disable", &["SELECT 1"]);
    assert!(plain.stderr.contains("this server wants TLS"), "{}", plain.stderr);
}

#[test]
fn passwords_cross_no_network_in_the_clear_unless_somebody_said_so() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("kymo.yaml");
    let text = "postgres: 0.0.0.0:0\nauth: [basic]\nusers:\n\
                \x20 - {name: ada, password: a long secret, roles: [read]}\n";
    fs::write(&file, text).unwrap();
    let check = |flags: &[&str]| {
        run(kymo().args(["config", "check", "--config", file.to_str().unwrap()]).args(flags))
    };
    let refused = check(&[]);
    assert_ne!(refused.code, 0, "{}", refused.stdout);
    let told = format!("{}{}", refused.stdout, refused.stderr);
    assert!(told.contains("postgres listens at 0.0.0.0:0") && told.contains("TLS"), "{told}");
    check(&["--insecure-listen"]).expect(0);
}
