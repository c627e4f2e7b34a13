//! PostgreSQL's protocol, message by message, and bytes that nobody should send.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use harness::{Server, eventually};

fn server() -> Server {
    Server::with(&["--postgres", "127.0.0.1:0"])
}

fn address(server: &Server) -> SocketAddr {
    let line = server.start_lines.iter().find(|line| line.starts_with("postgres "));
    let line = line.unwrap_or_else(|| panic!("{:?}", server.start_lines));
    line.split("//").nth(1).unwrap().split('/').next().unwrap().parse().unwrap()
}

/// The first message of somebody.
fn startup() -> Vec<u8> {
    let body = b"\0\x03\0\0user\0ada\0\0";
    [&(body.len() as u32 + 4).to_be_bytes()[..], body].concat()
}

/// A client that says what it is told to say.
struct Raw(TcpStream);

impl Raw {
    fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let mut raw = Self(stream);
        raw.0.write_all(&startup()).unwrap();
        assert!(raw.until(b'Z').ends_with("ZI"));
        raw
    }

    fn say(&mut self, kind: u8, body: &[u8]) {
        let length = (body.len() as u32 + 4).to_be_bytes();
        self.0.write_all(&[&[kind][..], &length, body].concat()).unwrap();
    }

    /// Prepares, binds and executes a query, for so many rows.
    fn execute(&mut self, query: &str, rows: u32) {
        self.say(b'P', format!("\0{query}\0\0\0").as_bytes());
        self.say(b'B', b"\0\0\0\0\0\0\0\0");
        self.go_on(rows);
    }

    /// Executes the portal without a name.
    fn go_on(&mut self, rows: u32) {
        self.say(b'E', &[&b"\0"[..], &rows.to_be_bytes()].concat());
    }

    fn next(&mut self) -> (u8, Vec<u8>) {
        let mut head = [0; 5];
        self.0.read_exact(&mut head).unwrap();
        let length = u32::from_be_bytes(head[1..].try_into().unwrap());
        let mut body = vec![0; length as usize - 4];
        self.0.read_exact(&mut body).unwrap();
        (head[0], body)
    }

    /// Kinds of messages until one of this kind; with its status if that is when the server is
    /// ready, with its code if it is an error.
    fn until(&mut self, last: u8) -> String {
        let mut kinds = String::new();
        loop {
            let (kind, body) = self.next();
            kinds.push(char::from(kind));
            if kind == b'Z' {
                kinds.push(char::from(body[0]));
            }
            if kind == b'E' {
                let mut fields = body.split(|byte| *byte == 0);
                let code = fields.find_map(|field| field.strip_prefix(b"C")).unwrap();
                kinds.push_str(&String::from_utf8_lossy(code));
            }
            if kind == last {
                return kinds;
            }
        }
    }

    /// What a text of the simple protocol is answered with.
    fn simple(&mut self, text: &str) -> String {
        self.say(b'Q', format!("{text}\0").as_bytes());
        self.until(b'Z')
    }
}

#[test]
fn after_an_error_nothing_is_answered_until_the_client_goes_on() {
    let server = server();
    let mut raw = Raw::connect(address(&server));
    raw.execute("SELECT nothing FROM spans", 0);
    raw.execute("SELECT 1", 0);
    raw.say(b'S', b"");
    assert_eq!(raw.until(b'Z'), "12E42703ZI");
    raw.execute("SELECT 1", 0);
    raw.say(b'S', b"");
    assert_eq!(raw.until(b'Z'), "12DCZI");
    // A text that is not UTF-8 spoils its statement, not the connection.
    raw.say(b'Q', b"SELECT '\xff'\0");
    assert_eq!(raw.until(b'Z'), "E22021ZI");
    raw.say(b'P', b"\0SELECT '\xff'\0\0\0");
    raw.say(b'S', b"");
    assert_eq!(raw.until(b'Z'), "E22021ZI");
    // Pieces of COPY come behind one that was refused.
    raw.say(b'Q', b"COPY spans FROM STDIN\0");
    raw.say(b'd', b"1\n");
    raw.say(b'c', b"");
    assert_eq!(raw.until(b'Z'), "E0A000ZI");
    assert_eq!(
        raw.simple("SELECT 1; SELECT 2; SELECT nothing FROM spans; SELECT 3"),
        "TDCTDCE42703ZI"
    );
    assert_eq!(raw.simple(" ; -- nothing\n"), "IZI");
}

#[test]
fn a_portal_waits_where_it_was_stopped() {
    let server = server();
    let mut raw = Raw::connect(address(&server));
    assert_eq!(raw.simple("BEGIN"), "CZT");
    raw.execute("SELECT value FROM generate_series(1, 5)", 2);
    raw.say(b'S', b"");
    assert_eq!(raw.until(b'Z'), "12DDsZT");
    raw.go_on(2);
    raw.go_on(2);
    raw.go_on(2);
    raw.say(b'S', b"");
    assert_eq!(raw.until(b'Z'), "DDsDCCZT");
    assert_eq!(raw.simple("COMMIT"), "CZI");
    raw.go_on(1);
    raw.say(b'S', b"");
    assert_eq!(raw.until(b'Z'), "E34000ZI");
}

#[test]
fn a_transaction_that_has_failed_goes_on_after_a_savepoint() {
    let server = server();
    let mut raw = Raw::connect(address(&server));
    assert_eq!(raw.simple("BEGIN; SAVEPOINT a; SELECT nothing FROM spans; SELECT 1"), "CCE42703ZE");
    assert_eq!(raw.simple("SELECT 1"), "E25P02ZE");
    assert_eq!(raw.simple("ROLLBACK TO SAVEPOINT a"), "CZT");
    assert_eq!(raw.simple("SELECT 1"), "TDCZT");
    assert_eq!(raw.simple("SET LOCAL application_name = 'x'"), "SCZT");
    assert_eq!(raw.simple("COMMIT"), "SCZI", "it is told that the setting is what it was");
    assert_eq!(raw.simple("BEGIN; SELECT nothing FROM spans"), "CE42703ZE");
    assert_eq!(raw.simple("COMMIT"), "CZI");
}

#[test]
fn a_client_that_goes_away_ends_its_query() {
    let server = server();
    let mut raw = Raw::connect(address(&server));
    let slow = "SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b \
                WHERE a.value % 7 = b.value % 5";
    raw.say(b'Q', format!("{slow}\0").as_bytes());
    drop(raw);
    let labels = ["kind=\"postgres\"", "outcome=\"cancelled\""];
    eventually(Duration::from_secs(30), "the query has ended", || {
        server.metric("kymo_query_seconds_count", &labels) == 1.0
    });
}

#[test]
fn answers_do_not_gather_until_the_client_wants_them() {
    let server = server();
    let mut raw = Raw::connect(address(&server));
    raw.say(b'P', b"a\0SELECT * FROM spans\0\0\0");
    for _ in 0..500 {
        raw.say(b'D', b"Sa\0");
    }
    // Some come although the client has said neither Sync nor Flush.
    assert_eq!(raw.until(b'T'), "1tT");
}

#[test]
fn prepared_statements_have_bounds() {
    let server = server();
    let mut raw = Raw::connect(address(&server));
    for number in 0..12 {
        let text = format!("{number}\0SELECT '{}'\0\0\0", "x".repeat(1 << 20));
        raw.say(b'P', text.as_bytes());
    }
    raw.say(b'S', b"");
    let answered = raw.until(b'Z');
    assert!(answered.starts_with("11") && answered.ends_with("E54000ZI"), "{answered}");
}

#[test]
fn every_type_that_a_query_can_make_is_sent_or_refused() {
    let server = server();
    let mut raw = Raw::connect(address(&server));
    for (name, value) in [
        ("Decimal32(5, 2)", "1"),
        ("Decimal64(12, 2)", "1"),
        ("Decimal128(20, 2)", "1"),
        ("Decimal256(50, 2)", "1"),
        ("Float16", "1"),
        ("Float32", "1"),
        ("UInt64", "1"),
        ("Dictionary(UInt8, Utf8)", "1"),
        ("LargeUtf8", "'x'"),
        ("Utf8View", "'x'"),
        ("BinaryView", "'x'"),
        ("Date64", "'2026-01-01'"),
        ("Time32(Second)", "'10:00:00'"),
        ("Time64(Nanosecond)", "'10:00:00'"),
        ("Timestamp(Second, None)", "'2026-01-01'"),
        ("Duration(Millisecond)", "1"),
        ("Interval(MonthDayNano)", "'1 day'"),
        ("LargeList(Int64)", "make_array(1, 2)"),
        ("List(Decimal32(5, 2))", "make_array(1, 2)"),
        ("ListView(Int64)", "make_array(1, 2)"),
    ] {
        let query = format!("SELECT arrow_cast({value}, '{name}')");
        let text = raw.simple(&query);
        // What cannot be cast or sent is an error; the server stays.
        assert!(
            text == "TDCZI" || text.starts_with('E') || text.starts_with("TE"),
            "{name}: {text}"
        );
        raw.say(b'P', format!("\0{query}\0\0\0").as_bytes());
        raw.say(b'B', b"\0\0\0\0\0\0\0\x01\0\x01");
        raw.go_on(0);
        raw.say(b'S', b"");
        let bytes = raw.until(b'Z');
        assert!(bytes == "12DCZI" || bytes.starts_with("12E"), "{name}: {bytes}");
    }
    assert_eq!(raw.simple("SELECT arrow_cast(1, 'Decimal32(5, 2)')"), "TDCZI");
}

#[test]
fn what_is_no_message_ends_its_connection_and_nothing_else() {
    let server = server();
    let address = address(&server);
    let startup = startup();
    let messages: &[&[u8]] = &[
        b"GET / HTTP/1.1\r\n\r\n",
        b"\xff\xff\xff\xff",
        b"\0\0\0\0",
        b"\0\0\0\x08\x04\xd2\x16\x2f",
        &[&startup[..], b"Q\x7f\xff\xff\xff"].concat(),
        &[&startup[..], b"B\0\0\0\x08\0\0\xff\xff"].concat(),
        &[&startup[..], b"Q\0\0\0\x08abcd"].concat(),
        &[&startup[..], b"\0\0\0\0\x04"].concat(),
        &startup[..7],
    ];
    for message in messages {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream.write_all(message).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        // The other side may have hung up before it has read all.
        let _ = stream.read_to_end(&mut answer);
    }
    let mut stream = TcpStream::connect(address).unwrap();
    let query = [&startup[..], b"Q\0\0\0\x0dSELECT 1\0X\0\0\0\x04"].concat();
    stream.write_all(&query).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let text = String::from_utf8_lossy(&answer);
    assert!(text.contains("server_version") && text.contains("SELECT 1"), "{text}");
}
