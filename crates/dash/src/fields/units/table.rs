//! Which units there are, by the ids that dashboards use: data that both the server and the page
//! format numbers by.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Serialize;

/// How numbers of one unit are written.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Unit {
    /// The number as it is, times a factor, between two texts.
    Fixed {
        /// What the number is multiplied by.
        multiply: f64,
        /// The text before it.
        prefix: String,
        /// The text after it.
        suffix: String,
    },
    /// The number divided by the power of a base that leaves one to three digits (or so).
    Scaled {
        /// The base: 1000 or 1024.
        base: f64,
        /// The place among the suffixes of the power 0.
        offset: usize,
        /// The text after the number for each power.
        suffixes: Vec<String>,
        /// The text before the number, and after its sign.
        prefix: String,
    },
    /// The first step whose bound the number is below.
    Steps {
        /// The steps.
        steps: Vec<Step>,
    },
    /// One of two words.
    Boolean {
        /// The word for what is not zero.
        yes: String,
        /// The word for zero.
        no: String,
    },
    /// A date by a pattern of moment.js.
    Date {
        /// The pattern.
        pattern: String,
        /// The pattern for today, where it differs.
        today: Option<String>,
    },
    /// What has rules of its own.
    Special {
        /// Which rules.
        rules: Rules,
    },
}

/// A step of a unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Step {
    /// Numbers whose size is below this are written so; none for the last.
    pub below: Option<f64>,
    /// What the number is multiplied by.
    pub multiply: f64,
    /// What the number is divided by.
    pub divide: f64,
    /// The text after it.
    pub suffix: &'static str,
    /// Whether an `s` follows where the number is above one.
    pub plural: bool,
}

/// Rules that no table can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Rules {
    /// As a text, unchanged.
    Text,
    /// Hexadecimal digits.
    Hex,
    /// Hexadecimal digits behind `0x`.
    Hex0x,
    /// With an exponent.
    Scientific,
    /// With commas between thousands.
    Thousands,
    /// Milliseconds as `1 hour, 5 minutes`.
    DurationMillis,
    /// Seconds as `1 hour, 5 minutes`.
    DurationSeconds,
    /// Seconds as `01:05:00`.
    Clock,
    /// Seconds as `2 d 01:05:00`.
    DaysClock,
    /// Milliseconds as `01h:05m:00s:000ms`.
    WatchMillis,
    /// Seconds as `01h:05m:00s:000ms`.
    WatchSeconds,
    /// A date as `5 minutes ago`.
    FromNow,
}

const SI_PREFIXES: [&str; 14] =
    ["f", "p", "n", "µ", "m", "", "k", "M", "G", "T", "P", "E", "Z", "Y"];
const SI_ONE: i32 = 5;
const BINARY_PREFIXES: [&str; 9] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi"];
const COUNT_PREFIXES: [&str; 5] = ["", "K", "M", "B", "T"];

/// Ids whose numbers are written as they are, before a space and this text.
#[rustfmt::skip]
const FIXED: &[(&str, &str)] = &[
    ("humidity", "%H"), ("dB", "dB"), ("pixel", "px"), ("accMS2", "m/sec²"), ("accFS2", "f/sec²"),
    ("accG", "g"), ("degree", "°"), ("radian", "rad"), ("grad", "grad"), ("arcmin", "arcmin"),
    ("arcsec", "arcsec"), ("areaM2", "m²"), ("areaF2", "ft²"), ("areaMI2", "mi²"), ("acres", "ac"),
    ("hectares", "ha"), ("ppm", "ppm"), ("conppb", "ppb"), ("conngm3", "ng/m³"),
    ("conngNm3", "ng/Nm³"), ("conμgm3", "μg/m³"), ("conμgNm3", "μg/Nm³"), ("conmgm3", "mg/m³"),
    ("conmgNm3", "mg/Nm³"), ("congm3", "g/m³"), ("congNm3", "g/Nm³"), ("conmgdL", "mg/dL"),
    ("conmmolL", "mmol/L"), ("dBm", "dbm"), ("flowgpm", "gpm"), ("flowcms", "cms"),
    ("flowcfs", "cfs"), ("flowcfm", "cfm"), ("litreh", "L/h"), ("flowlpm", "L/min"),
    ("flowmlpm", "mL/min"), ("lux", "lux"), ("masslb", "lb"), ("masst", "t"), ("lengthcm", "cm"),
    ("lengthin", "in"), ("lengthft", "ft"), ("lengthmi", "mi"), ("pressurehpa", "hPa"),
    ("pressurekpa", "kPa"), ("pressurehg", "\"Hg"), ("rotrpm", "rpm"), ("rotrads", "rad/s"),
    ("rotdegs", "°/s"), ("celsius", "°C"), ("fahrenheit", "°F"), ("farenheit", "°F"),
    ("kelvin", "K"), ("velocityms", "m/s"), ("velocitykmh", "km/h"), ("velocitymph", "mph"),
    ("velocityknot", "kn"), ("m3", "m³"), ("Nm3", "Nm³"), ("dm3", "dm³"), ("gallons", "gal"),
];

/// Ids with the prefixes of the metric system: the text after them, and the power of 1000 that the
/// numbers are already in.
#[rustfmt::skip]
const METRIC: &[(&str, &str, i32)] = &[
    ("sishort", "", 0), ("candela", "cd", 0), ("flops", "FLOPS", 0), ("mflops", "FLOPS", 2),
    ("gflops", "FLOPS", 3), ("tflops", "FLOPS", 4), ("pflops", "FLOPS", 5), ("eflops", "FLOPS", 6),
    ("zflops", "FLOPS", 7), ("yflops", "FLOPS", 8), ("decbytes", "B", 0), ("decbits", "b", 0),
    ("deckbytes", "B", 1), ("decmbytes", "B", 2), ("decgbytes", "B", 3), ("dectbytes", "B", 4),
    ("decpbytes", "B", 5), ("pps", "p/s", 0), ("Bps", "B/s", 0), ("bps", "b/s", 0),
    ("KBs", "B/s", 1), ("Kbits", "b/s", 1), ("MBs", "B/s", 2), ("Mbits", "b/s", 2),
    ("GBs", "B/s", 3), ("Gbits", "b/s", 3), ("TBs", "B/s", 4), ("Tbits", "b/s", 4),
    ("PBs", "B/s", 5), ("Pbits", "b/s", 5), ("watt", "W", 0), ("kwatt", "W", 1),
    ("megwatt", "W", 2), ("gwatt", "W", 3), ("mwatt", "W", -1), ("Wm2", "W/m²", 0),
    ("voltamp", "VA", 0), ("kvoltamp", "VA", 1), ("voltampreact", "VAr", 0),
    ("kvoltampreact", "VAr", 1), ("watth", "Wh", 0), ("watthperkg", "Wh/kg", 0),
    ("kwatth", "Wh", 1), ("kwattm", "W-Min", 1), ("mwatth", "Wh", 2), ("amph", "Ah", 0),
    ("kamph", "Ah", 1), ("mamph", "Ah", -1), ("joule", "J", 0), ("ev", "eV", 0), ("amp", "A", 0),
    ("kamp", "A", 1), ("mamp", "A", -1), ("volt", "V", 0), ("kvolt", "V", 1), ("mvolt", "V", -1),
    ("mohm", "Ω", -1), ("ohm", "Ω", 0), ("kohm", "Ω", 1), ("Mohm", "Ω", 2), ("farad", "F", 0),
    ("µfarad", "F", -2), ("nfarad", "F", -3), ("pfarad", "F", -4), ("ffarad", "F", -5),
    ("henry", "H", 0), ("mhenry", "H", -1), ("µhenry", "H", -2), ("lumens", "Lm", 0),
    ("forceNm", "Nm", 0), ("forcekNm", "Nm", 1), ("forceN", "N", 0), ("forcekN", "N", 1),
    ("Hs", "H/s", 0), ("KHs", "H/s", 1), ("MHs", "H/s", 2), ("GHs", "H/s", 3), ("THs", "H/s", 4),
    ("PHs", "H/s", 5), ("EHs", "H/s", 6), ("massmg", "g", -1), ("massg", "g", 0),
    ("masskg", "g", 1), ("lengthmm", "m", -1), ("lengthm", "m", 0), ("lengthkm", "m", 1),
    ("pressurembar", "bar", -1), ("pressurebar", "bar", 0), ("pressurekbar", "bar", 1),
    ("pressurepa", "Pa", 0), ("radbq", "Bq", 0), ("radci", "Ci", 0), ("radgy", "Gy", 0),
    ("radrad", "rad", 0), ("radsv", "Sv", 0), ("radmsv", "Sv", -1), ("radusv", "Sv", -2),
    ("radrem", "rem", 0), ("radexpckg", "C/kg", 0), ("radr", "R", 0), ("radsvh", "Sv/h", 0),
    ("radmsvh", "Sv/h", -1), ("radusvh", "Sv/h", -2), ("rothz", "Hz", 0), ("rotkhz", "Hz", 1),
    ("rotmhz", "Hz", 2), ("rotghz", "Hz", 3), ("hertz", "Hz", 0), ("mlitre", "L", -1),
    ("litre", "L", 0),
];

/// The same with the prefixes of powers of 1024.
#[rustfmt::skip]
const BINARY: &[(&str, &str, usize)] = &[
    ("bytes", "B", 0), ("bits", "b", 0), ("kbytes", "B", 1), ("mbytes", "B", 2), ("gbytes", "B", 3),
    ("tbytes", "B", 4), ("pbytes", "B", 5), ("binBps", "B/s", 0), ("binbps", "b/s", 0),
    ("KiBs", "B/s", 1), ("Kibits", "b/s", 1), ("MiBs", "B/s", 2), ("Mibits", "b/s", 2),
    ("GiBs", "B/s", 3), ("Gibits", "b/s", 3), ("TiBs", "B/s", 4), ("Tibits", "b/s", 4),
    ("PiBs", "B/s", 5), ("Pibits", "b/s", 5),
];

/// Counts over time, with the prefixes that people use for counts.
#[rustfmt::skip]
const COUNTS: &[(&str, &str)] = &[
    ("cps", "c/s"), ("ops", "ops/s"), ("reqps", "req/s"), ("rps", "rd/s"), ("wps", "wr/s"),
    ("iops", "io/s"), ("eps", "evt/s"), ("mps", "msg/s"), ("recps", "rec/s"), ("rowsps", "rows/s"),
    ("cpm", "c/m"), ("opm", "ops/m"), ("reqpm", "req/m"), ("rpm", "rd/m"), ("wpm", "wr/m"),
    ("epm", "evts/m"), ("mpm", "msgs/m"), ("recpm", "rec/m"), ("rowspm", "rows/m"),
];

/// Currencies, and whether the sign stands behind the number.
#[rustfmt::skip]
const CURRENCIES: &[(&str, &str, bool)] = &[
    ("USD", "$", false), ("GBP", "£", false), ("EUR", "€", false), ("JPY", "¥", false),
    ("RUB", "₽", false), ("UAH", "₴", false), ("BRL", "R$", false), ("DKK", "kr", true),
    ("ISK", "kr", true), ("NOK", "kr", true), ("SEK", "kr", true), ("CZK", "czk", false),
    ("CHF", "CHF", false), ("PLN", "PLN", false), ("BTC", "฿", false), ("mBTC", "mBTC", false),
    ("μBTC", "μBTC", false), ("ZAR", "R", false), ("INR", "₹", false), ("KRW", "₩", false),
    ("IDR", "Rp", false), ("PHP", "PHP", false), ("VND", "đ", true), ("TRY", "₺", true),
    ("MYR", "RM", false), ("XPF", "XPF", false), ("BGN", "BGN", false), ("PYG", "₲", false),
    ("UYU", "UYU", false), ("ILS", "₪", false),
];

/// Dates: the pattern, and the one for today where it differs.
const DATES: &[(&str, &str, Option<&str>)] = &[
    ("dateTimeAsIso", "YYYY-MM-DD HH:mm:ss", None),
    ("dateTimeAsIsoNoDateIfToday", "YYYY-MM-DD HH:mm:ss", Some("HH:mm:ss")),
    ("dateTimeAsUS", "MM/DD/YYYY h:mm:ss a", None),
    ("dateTimeAsUSNoDateIfToday", "MM/DD/YYYY h:mm:ss a", Some("h:mm:ss a")),
    ("dateTimeAsLocal", "MM/DD/YYYY, hh:mm:ss A", None),
    ("dateTimeAsLocalNoDateIfToday", "MM/DD/YYYY, hh:mm:ss A", Some("hh:mm:ss A")),
    ("dateTimeAsSystem", super::date::FULL, None),
];

#[rustfmt::skip]
const SPECIAL: &[(&str, Rules)] = &[
    ("string", Rules::Text), ("hex", Rules::Hex), ("hex0x", Rules::Hex0x),
    ("sci", Rules::Scientific), ("locale", Rules::Thousands),
    ("dtdurationms", Rules::DurationMillis), ("dtdurations", Rules::DurationSeconds),
    ("dthms", Rules::Clock), ("dtdhms", Rules::DaysClock), ("clockms", Rules::WatchMillis),
    ("clocks", Rules::WatchSeconds), ("dateTimeFromNow", Rules::FromNow),
];

const fn step(below: f64, multiply: f64, divide: f64, suffix: &'static str) -> Step {
    let below = if below.is_finite() { Some(below) } else { None };
    Step { below, multiply, divide, suffix, plural: true }
}

const fn plain(below: f64, suffix: &'static str) -> Step {
    Step { below: Some(below), multiply: 1.0, divide: 1.0, suffix, plural: false }
}

const END: f64 = f64::INFINITY;

/// Units of time: a number is shown in the largest unit that it fills.
#[rustfmt::skip]
const TIMES: &[(&str, &[Step])] = &[
    ("ns", &[
        plain(1e3, " ns"),
        step(1e6, 1.0, 1e3, " µs"),
        step(1e9, 1.0, 1e6, " ms"),
        step(6e10, 1.0, 1e9, " s"),
        step(3.6e12, 1.0, 6e10, " min"),
        step(8.64e13, 1.0, 3.6e12, " hour"),
        step(END, 1.0, 8.64e13, " day"),
    ]),
    ("µs", &[plain(1e3, " µs"), step(1e6, 1.0, 1e3, " ms"), step(END, 1.0, 1e6, " s")]),
    ("ms", &[
        plain(1e3, " ms"),
        step(6e4, 1.0, 1e3, " s"),
        step(3.6e6, 1.0, 6e4, " min"),
        step(8.64e7, 1.0, 3.6e6, " hour"),
        step(3.1536e10, 1.0, 8.64e7, " day"),
        step(END, 1.0, 3.1536e10, " year"),
    ]),
    ("s", SECONDS),
    ("m", &[
        plain(60.0, " min"),
        step(1440.0, 1.0, 60.0, " hour"),
        step(10080.0, 1.0, 1440.0, " day"),
        step(604800.0, 1.0, 10080.0, " week"),
        step(END, 1.0, 525948.0, " year"),
    ]),
    ("h", &[
        plain(24.0, " hour"),
        step(168.0, 1.0, 24.0, " day"),
        step(8760.0, 1.0, 168.0, " week"),
        step(END, 1.0, 8760.0, " year"),
    ]),
    ("d", &[
        step(7.0, 1.0, 1.0, " day"),
        step(365.0, 1.0, 7.0, " week"),
        step(END, 1.0, 365.0, " year"),
    ]),
];

const SECONDS: &[Step] = &[
    // Zero is below every bound, and is seconds.
    plain(f64::MIN_POSITIVE, " s"),
    step(1e-6, 1e9, 1.0, " ns"),
    step(1e-3, 1e6, 1.0, " µs"),
    step(1.0, 1e3, 1.0, " ms"),
    plain(60.0, " s"),
    step(3600.0, 1.0, 60.0, " min"),
    step(86400.0, 1.0, 3600.0, " hour"),
    step(604800.0, 1.0, 86400.0, " day"),
    step(3.1536e7, 1.0, 604800.0, " week"),
    step(END, 1.0, 31556900.0, " year"),
];

fn fixed(multiply: f64, prefix: &str, suffix: &str) -> Unit {
    Unit::Fixed { multiply, prefix: prefix.to_owned(), suffix: suffix.to_owned() }
}

fn scaled(base: f64, offset: usize, prefix: &str, suffixes: Vec<String>) -> Unit {
    Unit::Scaled { base, offset, suffixes, prefix: prefix.to_owned() }
}

fn metric(unit: &str, power: i32) -> Unit {
    let suffixes = SI_PREFIXES.iter().map(|prefix| format!(" {prefix}{unit}")).collect();
    scaled(1000.0, (SI_ONE + power).max(0) as usize, "", suffixes)
}

fn counts(after: &str) -> Unit {
    let suffixes = COUNT_PREFIXES.iter().map(|prefix| format!("{prefix}{after}")).collect();
    scaled(1000.0, 0, "", suffixes)
}

fn currency(symbol: &str, behind: bool) -> Unit {
    let after = if behind { symbol } else { "" };
    let suffixes = COUNT_PREFIXES.iter().map(|prefix| format!("{prefix}{after}")).collect();
    scaled(1000.0, 0, if behind { "" } else { symbol }, suffixes)
}

fn boolean(yes: &str, no: &str) -> Unit {
    Unit::Boolean { yes: yes.to_owned(), no: no.to_owned() }
}

static UNITS: LazyLock<BTreeMap<String, Unit>> = LazyLock::new(build);

fn build() -> BTreeMap<String, Unit> {
    let mut units = BTreeMap::new();
    let mut add = |id: &str, unit: Unit| _ = units.insert(id.to_owned(), unit);
    add("none", fixed(1.0, "", ""));
    add("percent", fixed(1.0, "", "%"));
    add("percentunit", fixed(100.0, "", "%"));
    let short = ["", " K", " Mil", " Bil", " Tri", " Quadr", " Quint", " Sext", " Sept"];
    add("short", scaled(1000.0, 0, "", short.map(str::to_owned).to_vec()));
    let pounds = ["psi", "ksi", "Mpsi"].map(str::to_owned).to_vec();
    add("pressurepsi", scaled(1000.0, 0, "", pounds));
    add("bool", boolean("True", "False"));
    add("bool_yes_no", boolean("Yes", "No"));
    add("bool_on_off", boolean("On", "Off"));
    let ticks = SECONDS.iter().map(|s| Step {
        below: s.below.map(|below| below * 100.0),
        divide: s.divide * 100.0,
        ..*s
    });
    add("timeticks", Unit::Steps { steps: ticks.collect() });
    FIXED.iter().for_each(|(id, unit)| add(id, fixed(1.0, "", &format!(" {unit}"))));
    METRIC.iter().for_each(|(id, unit, power)| add(id, metric(unit, *power)));
    COUNTS.iter().for_each(|(id, unit)| add(id, counts(&format!(" {unit}"))));
    for (id, unit, power) in BINARY {
        let suffixes = BINARY_PREFIXES.iter().map(|prefix| format!(" {prefix}{unit}")).collect();
        add(id, scaled(1024.0, *power, "", suffixes));
    }
    for (id, symbol, behind) in CURRENCIES {
        add(&format!("currency{id}"), currency(symbol, *behind));
    }
    for (id, pattern, today) in DATES {
        let today = today.map(str::to_owned);
        add(id, Unit::Date { pattern: (*pattern).to_owned(), today });
    }
    SPECIAL.iter().for_each(|(id, rules)| add(id, Unit::Special { rules: *rules }));
    TIMES.iter().for_each(|(id, steps)| add(id, Unit::Steps { steps: steps.to_vec() }));
    units
}

/// All units by id, for the page to format by. Ids made of a kind and a text (`suffix:x`) are not
/// among them; see [`find`].
pub fn table() -> &'static BTreeMap<String, Unit> {
    &UNITS
}

/// The unit of that id: one of the table, or one that the id itself describes: `prefix:x`,
/// `suffix:x`, `si:kx`, `count:x`, `time:pattern`, `currency:x`, `currency:financial:x[:suffix]`,
/// `bool:yes/no`. Anything else is the text behind the number.
pub fn find(id: &str) -> Unit {
    if let Some(unit) = UNITS.get(id) {
        return unit.clone();
    }
    if id.is_empty() {
        return fixed(1.0, "", "");
    }
    let spaced = |text: &str| if text.is_empty() { String::new() } else { format!(" {text}") };
    match id.split_once(':') {
        Some(("prefix", text)) => fixed(1.0, text, ""),
        Some(("suffix", text)) => fixed(1.0, "", &spaced(text)),
        Some(("time", pattern)) => Unit::Date { pattern: pattern.to_owned(), today: None },
        Some(("count", text)) => counts(&format!(" {text}")),
        Some(("si", text)) => {
            let first = text.chars().next().unwrap_or_default();
            // The micro sign and the Greek letter look alike.
            let first = if first == 'μ' { 'µ' } else { first };
            let place = SI_PREFIXES.iter().position(|prefix| prefix.starts_with(first));
            match place {
                Some(place) => metric(&text[first.len_utf8()..], place as i32 - SI_ONE),
                None => metric(text, 0),
            }
        }
        Some(("currency", text)) => match text.strip_prefix("financial:") {
            Some(text) => {
                let (symbol, place) = text.split_once(':').unwrap_or((text, ""));
                let behind = place == "suffix";
                let (prefix, suffix) = if behind { ("", symbol) } else { (symbol, "") };
                fixed(1.0, prefix, suffix)
            }
            None => currency(text, false),
        },
        Some(("bool", text)) => match text.split_once('/') {
            Some((yes, no)) => boolean(yes, no),
            None => boolean(text, "-"),
        },
        _ => fixed(1.0, "", &format!(" {id}")),
    }
}
