//! Conditions of other systems' searches in TraceQL, as a person would write them.

/// Conditions that all have to hold.
#[derive(Default)]
pub(super) struct Conditions(Vec<String>);

impl Conditions {
    /// Adds one that is TraceQL already.
    pub(super) fn add(&mut self, condition: String) {
        self.0.push(condition);
    }

    /// The service.
    pub(super) fn service(&mut self, name: &str) {
        self.add(format!("resource.service.name = {}", quoted(name)));
    }

    /// The name of a span.
    pub(super) fn operation(&mut self, name: &str) {
        self.add(format!("name = {}", quoted(name)));
    }

    /// A tag as Jaeger has them: compared as text, whatever its type is, and some of them are not
    /// attributes in OTLP.
    pub(super) fn tag(&mut self, key: &str, value: &str) {
        let condition = match (key, value) {
            ("error", "true") | ("otel.status_code", "ERROR") => "status = error".to_owned(),
            ("otel.status_code", "OK") => "status = ok".to_owned(),
            ("span.kind", "server" | "client" | "producer" | "consumer" | "internal") => {
                format!("kind = {value}")
            }
            _ => {
                let attribute = attribute("", key);
                let as_text = format!("{attribute} = {}", quoted(value));
                match is_literal(value) {
                    true => format!("({as_text} || {attribute} = {value})"),
                    false => as_text,
                }
            }
        };
        self.add(condition);
    }

    /// The shortest and the longest duration, such as `1.2s`; what is none is left out.
    pub(super) fn durations(&mut self, shortest: Option<&str>, longest: Option<&str>) {
        for (operator, text) in [(">=", shortest), ("<=", longest)] {
            if let Some(text) = text.map(str::trim).filter(|text| is_duration(text)) {
                self.add(format!("duration {operator} {text}"));
            }
        }
    }

    /// The query, if there is a condition.
    pub(super) fn query(self) -> Option<String> {
        (!self.0.is_empty()).then(|| format!("{{ {} }}", self.0.join(" && ")))
    }
}

/// An attribute of a scope; of any, if the scope is empty.
pub(super) fn attribute(scope: &str, key: &str) -> String {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"_.-/".contains(&b);
    let starts_well = key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    match starts_well && key.bytes().all(is_plain) {
        true => format!("{scope}.{key}"),
        // Names know no escapes for control characters.
        false => format!("{scope}.{}", quoted(&key.replace(char::is_control, ""))),
    }
}

/// A text as TraceQL has it. Control characters that it has no escape for are left out.
pub(super) fn quoted(text: &str) -> String {
    let mut literal = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => literal.extend(['\\', character]),
            '\n' => literal.push_str("\\n"),
            '\t' => literal.push_str("\\t"),
            '\r' => literal.push_str("\\r"),
            control if control.is_control() => {}
            plain => literal.push(plain),
        }
    }
    literal.push('"');
    literal
}

/// Whether a text is also how a number or a truth value is written.
pub(super) fn is_literal(text: &str) -> bool {
    let is_same = |written: String| written == text;
    let is_whole = text.parse::<i64>().is_ok_and(|number| is_same(number.to_string()));
    let is_float =
        text.parse::<f64>().is_ok_and(|number| number.is_finite() && is_same(number.to_string()));
    is_whole || is_float || matches!(text, "true" | "false")
}

/// Whether a text is a duration: numbers, each with its unit.
pub(super) fn is_duration(text: &str) -> bool {
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        let unit_end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_end);
        let is_number = number.len() <= 15
            && number.starts_with(|c: char| c.is_ascii_digit())
            && number.parse::<f64>().is_ok();
        if !is_number || !matches!(unit, "ns" | "us" | "µs" | "ms" | "s" | "m" | "h") {
            return false;
        }
        rest = after;
    }
    !text.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_traceql_whatever_was_asked_for() {
        let odd = [
            "x",
            "",
            "a b",
            "\"",
            "\\",
            "\" || true || \"",
            "}",
            "\n\t\r\u{7}",
            "é",
            "1",
            "-2.5",
            "true",
            "1e3",
        ];
        for text in odd {
            let mut conditions = Conditions::default();
            conditions.service(text);
            conditions.operation(text);
            conditions.tag(text, text);
            conditions.tag("http.status_code", text);
            conditions.durations(Some(text), Some("1.5s"));
            let query = conditions.query().unwrap();
            let parsed = kymo_traceql::parse(&query);
            assert!(parsed.is_ok(), "{query}: {}", parsed.unwrap_err());
        }
        assert!(Conditions::default().query().is_none());
    }

    #[test]
    fn tags_that_are_not_attributes_are_what_they_mean() {
        let tag = |key, value| {
            let mut conditions = Conditions::default();
            conditions.tag(key, value);
            conditions.query().unwrap()
        };
        assert_eq!(tag("error", "true"), "{ status = error }");
        assert_eq!(tag("span.kind", "server"), "{ kind = server }");
        assert_eq!(tag("span.kind", "odd"), "{ .span.kind = \"odd\" }");
        assert_eq!(tag("code", "500"), "{ (.code = \"500\" || .code = 500) }");
        assert_eq!(tag("code", "0500"), "{ .code = \"0500\" }");
        assert_eq!(tag("a b", "x"), "{ .\"a b\" = \"x\" }");
    }

    #[test]
    fn durations_are_numbers_with_units() {
        for good in ["1s", "1.2s", "100ms", "500us", "1h30m", "10µs"] {
            assert!(is_duration(good), "{good}");
            let query = format!("{{ duration > {good} }}");
            assert!(kymo_traceql::parse(&query).is_ok(), "{query}");
        }
        for wrong in ["", "1", "s", "1x", "-1s", "1..2s", ".5s", "1s }"] {
            assert!(!is_duration(wrong), "{wrong}");
        }
    }
}
