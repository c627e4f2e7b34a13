//! What the store tests is what SQL means: random filters over awkward data, once with everything
//! pushed down to the store and once with nothing.

use kymo_wire::AnyValueView;
use kymo_wire::encode::{SpanFields, Writer};

use super::lines;
use super::support::Place;

const SPANS: u64 = 600;
const FILTERS: usize = 400;
const START_NANOS: u64 = 1_700_000_000_000_000_000;

pub(super) struct Random(pub(super) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.next() >> 11) as usize % end
    }

    pub(super) fn one<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len())]
    }
}

const TEXTS: [&str; 8] = ["", "a", "A", "ab", "1", "true", "é_%", "a\nb"];
const INTS: [i64; 7] = [0, 1, -1, 200, i64::MAX, i64::MIN, (1 << 53) + 1];
const DOUBLES: [f64; 9] =
    [0.0, -0.0, 1.0, -1.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 9007199254740992.0, 200.0];

fn write_value(w: &mut Writer, key: &[u8], kind: &str, random: &mut Random) {
    let value = match kind {
        "text" => AnyValueView::String(TEXTS[random.below(TEXTS.len())].as_bytes()),
        "int" => AnyValueView::Int(INTS[random.below(INTS.len())]),
        "double" => AnyValueView::Double(DOUBLES[random.below(DOUBLES.len())]),
        "bytes" => AnyValueView::Bytes(b"\x01\x02"),
        _ => AnyValueView::Bool(random.below(2) == 0),
    };
    w.span_attribute(key, &value);
}

/// Keys, and the types that their values have.
const KEYS: [(&str, &[&str]); 7] = [
    ("text", &["text"]),
    ("int", &["int"]),
    ("double", &["double"]),
    ("flag", &["bool"]),
    ("number", &["int", "double"]),
    ("mixed", &["text", "int", "double", "bool", "bytes"]),
    ("twice", &["text", "int"]),
];

fn request(first: u64, count: u64, random: &mut Random) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.resource_group(|w| {
        w.resource(|w| {
            let service = TEXTS[random.below(TEXTS.len())];
            if random.below(4) > 0 {
                w.resource_attribute(b"service.name", &AnyValueView::String(service.as_bytes()));
            }
            if random.below(2) == 0 {
                w.resource_attribute(b"mixed", &AnyValueView::Int(1));
            } else {
                w.resource_attribute(b"mixed", &AnyValueView::String(b"1"));
            }
        });
        w.scope_group(|w| {
            for number in first..first + count {
                let parent = (number - 1).to_be_bytes();
                let has_parent = random.below(3) > 0;
                let start = START_NANOS + number * 1000;
                let fields = SpanFields {
                    trace_id: &[(number % 7) as u8 + 1; 16],
                    span_id: &number.to_be_bytes(),
                    parent_span_id: if has_parent && number > 1 { &parent } else { &[] },
                    name: TEXTS[random.below(TEXTS.len())].as_bytes(),
                    kind: random.below(6) as i32,
                    start_time_unix_nano: start,
                    end_time_unix_nano: start.wrapping_add_signed(random.below(2000) as i64 - 500),
                    ..SpanFields::default()
                };
                w.span(&fields, |w| {
                    for (key, kinds) in KEYS {
                        if random.below(3) == 0 {
                            continue;
                        }
                        write_value(w, key.as_bytes(), random.one(kinds), random);
                        if key == "twice" && random.below(2) == 0 {
                            write_value(w, key.as_bytes(), random.one(kinds), random);
                        }
                    }
                    if random.below(2) == 0 {
                        w.status(random.below(3) as i32, b"");
                    }
                });
            }
        });
    });
    writer.into_bytes()
}

fn text(random: &mut Random) -> String {
    format!("'{}'", TEXTS[random.below(TEXTS.len())])
}

fn number(random: &mut Random) -> String {
    let numbers = [
        "0",
        "1",
        "-1",
        "200",
        "9223372036854775807",
        "0.0",
        "-1.5",
        "1.0",
        "9007199254740993",
        "1e300",
    ];
    random.one(&numbers).to_owned()
}

fn leaf(random: &mut Random) -> String {
    let texts = [
        "name",
        "kind",
        "status",
        "\"span.text\"",
        "\"span.mixed\"",
        "\"span.twice\"",
        "\"resource.service.name\"",
        "\"resource.mixed\"",
        "\"span.unknown\"",
        "root_name",
    ];
    let numbers = [
        "\"span.int\"",
        "\"span.double\"",
        "\"span.number\"",
        "duration_nanos",
        "trace_duration_nanos",
    ];
    let anything = ["\"span.flag\"", "parent_span_id", "status_message", "end_time"];
    let op = random.one(&["=", "<>", "<", "<=", ">", ">="]).to_owned();
    match random.below(13) {
        0 | 1 => format!("{} {op} {}", random.one(&texts), text(random)),
        2 | 3 => format!("{} {op} {}", random.one(&numbers), number(random)),
        4 => {
            let not = random.one(&["", "NOT "]).to_owned();
            let null = random.one(&["", ", NULL"]).to_owned();
            let column = random.one(&texts);
            // Short lists are turned into comparisons before they get to the scan.
            let values: Vec<String> = (0..2 + random.below(4)).map(|_| text(random)).collect();
            format!("{column} {not}IN ({}{null})", values.join(", "))
        }
        5 => {
            let not = random.one(&["", "NOT "]).to_owned();
            let column = random.one(&numbers);
            let values: Vec<String> = (0..2 + random.below(4)).map(|_| number(random)).collect();
            format!("{column} {not}IN ({})", values.join(", "))
        }
        6 => {
            let like = random.one(&["LIKE", "NOT LIKE", "ILIKE", "NOT ILIKE"]).to_owned();
            let pattern = random.one(&["a%", "%", "_", "%b", "a_b", "1", "é\\_%", "", "%_%"]);
            format!("{} {like} '{pattern}'", random.one(&texts))
        }
        7 => {
            let matches = random.one(&["~", "!~", "~*", "!~*"]).to_owned();
            let regex = random.one(&["a", "^A$", "", ".", "^(a|1)$", "(?s)a.b"]);
            format!("{} {matches} '{regex}'", random.one(&texts))
        }
        8 => {
            let all: Vec<&str> = texts.iter().chain(&numbers).chain(&anything).copied().collect();
            let null = random.one(&["IS NULL", "IS NOT NULL"]).to_owned();
            format!("{} {null}", random.one(&all))
        }
        9 => random
            .one(&["\"span.flag\"", "\"span.flag\" IS TRUE", "\"span.flag\" IS NOT FALSE"])
            .to_owned(),
        10 => {
            let not = random.one(&["", "NOT "]).to_owned();
            let column = random.one(&numbers);
            format!("{column} {not}BETWEEN {} AND {}", number(random), number(random))
        }
        11 => {
            let nanos = START_NANOS + random.next() % (SPANS * 1100);
            let column = random.one(&["start_time", "end_time", "trace_start_time"]);
            format!("{column} {op} to_timestamp_nanos({nanos})")
        }
        _ => {
            let id = format!("{:016x}", random.next() % SPANS);
            format!("{} {op} '{id}'", random.one(&["span_id", "parent_span_id"]))
        }
    }
}

fn filter(random: &mut Random, depth: usize) -> String {
    match (random.below(6), depth) {
        (0 | 1, 1..) => {
            format!("({} AND {})", filter(random, depth - 1), filter(random, depth - 1))
        }
        (2 | 3, 1..) => format!("({} OR {})", filter(random, depth - 1), filter(random, depth - 1)),
        (4, 1..) => format!("NOT ({})", filter(random, depth - 1)),
        (5, 1..) => {
            let is = random.one(&["IS TRUE", "IS NOT TRUE", "IS FALSE", "IS NOT FALSE"]).to_owned();
            format!("({}) {is}", filter(random, depth - 1))
        }
        _ => leaf(random),
    }
}

/// Some rows in blocks, some in memory.
fn place(random: &mut Random) -> Place {
    let place = super::place();
    for part in 0..6 {
        place.append_spans(request(1 + part * SPANS / 6, SPANS / 6, random));
        if part == 2 || part == 3 {
            place.store.flush().unwrap();
        }
    }
    place
}

#[test]
fn filters_give_the_same_rows_whether_the_store_tests_them_or_not() {
    let mut random = Random(0x5eed_0001);
    let place = place(&mut random);
    let plain = place.engine.without_pushdown();
    let mut answered = 0;
    for nth in 0..FILTERS {
        let filter = filter(&mut random, nth % 4);
        let selects = ["span_id", "span_id, \"span.mixed\", \"span.number\""];
        let queries = [
            format!("SELECT {} FROM spans WHERE {filter} ORDER BY span_id", random.one(&selects)),
            format!("SELECT span_id FROM spans WHERE {filter} ORDER BY start_time DESC LIMIT 7"),
            format!("SELECT count(*) FROM spans WHERE {filter}"),
        ];
        for query in queries {
            match (lines(&place.engine, &query), lines(&plain, &query)) {
                (Ok(pushed), Ok(expected)) => {
                    assert_eq!(pushed, expected, "{query}");
                    answered += usize::from(!expected.is_empty());
                }
                (Err(pushed), Err(expected)) => {
                    assert_eq!(pushed.kind(), expected.kind(), "{query}: {pushed} | {expected}");
                }
                (pushed, expected) => panic!("{query}\n{pushed:?}\n{expected:?}"),
            }
        }
    }
    assert!(answered > FILTERS, "{answered} answers had rows");
}

#[test]
fn groups_are_the_same_by_code_and_without() {
    let mut random = Random(0x5eed_0002);
    let place = place(&mut random);
    // What cannot be grouped by code is: text that was made on the way.
    for (by_code, plain) in [
        ("name", "concat(name, '')"),
        ("\"span.text\"", "arrow_cast(\"span.text\", 'Utf8')"),
        ("\"resource.service.name\"", "arrow_cast(\"resource.service.name\", 'Utf8')"),
    ] {
        for second in ["kind", "\"span.int\"", "date_bin(INTERVAL '100 microseconds', start_time)"]
        {
            let aggregates = "count(*), count(\"span.int\"), sum(duration_nanos), min(duration_nanos), \
                max(start_time), avg(duration_nanos), count(*) FILTER (WHERE status = 'error')";
            let query = |first: &str| {
                format!(
                    "SELECT {first} AS a, {second} AS b, {aggregates} FROM spans GROUP BY 1, 2 ORDER BY 1, 2"
                )
            };
            let plan = |first: &str| {
                let explain = format!("EXPLAIN FORMAT INDENT {}", query(first));
                lines(&place.engine, &explain).unwrap().join("\n")
            };
            assert!(plan(by_code).contains("CodeGroups"), "{}", plan(by_code));
            assert!(!plan(plain).contains("CodeGroups"), "{}", plan(plain));
            assert_eq!(
                lines(&place.engine, &query(by_code)).unwrap(),
                lines(&place.engine, &query(plain)).unwrap(),
                "{by_code} {second}"
            );
        }
    }
}
