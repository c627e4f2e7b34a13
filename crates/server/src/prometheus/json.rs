//! Results as JSON, written straight into one text.

use std::fmt::Write as _;

use kymo_promql::eval::{MatrixSeries, Outcome};
use kymo_promql::histogram::Histogram;
use kymo_promql::labels::Labels;
use kymo_promql::number::{format_float, format_json_float};
use kymo_promql::sample::Value;

/// Writes a result: `{"resultType": …, "result": …}` without the closing brace, so that more can
/// follow.
pub(super) fn write_outcome(outcome: &Outcome, out: &mut String) {
    let kind = match outcome {
        Outcome::Scalar { .. } => "scalar",
        Outcome::Text { .. } => "string",
        Outcome::Vector { .. } => "vector",
        Outcome::Matrix(_) => "matrix",
    };
    out.push_str("{\"resultType\":\"");
    out.push_str(kind);
    out.push_str("\",\"result\":");
    match outcome {
        Outcome::Scalar { time, value } => write_point(*time, *value, out),
        Outcome::Text { time, value } => {
            out.push('[');
            write_time(*time, out);
            out.push(',');
            write_text(value, out);
            out.push(']');
        }
        Outcome::Vector { time, samples } => {
            write_list(samples, out, |sample, out| {
                out.push_str("{\"metric\":");
                write_labels(&sample.labels, out);
                match &sample.value {
                    Value::Float(value) => {
                        out.push_str(",\"value\":");
                        write_point(*time, *value, out);
                    }
                    Value::Histogram(histogram) => {
                        out.push_str(",\"histogram\":");
                        write_histogram(*time, histogram, out);
                    }
                }
                out.push('}');
            });
        }
        Outcome::Matrix(series) => write_list(series, out, write_series),
    }
}

fn write_series(series: &MatrixSeries, out: &mut String) {
    out.push_str("{\"metric\":");
    write_labels(&series.labels, out);
    if !series.floats.is_empty() {
        out.push_str(",\"values\":");
        write_list(&series.floats, out, |(time, value), out| write_point(*time, *value, out));
    }
    if !series.histograms.is_empty() {
        out.push_str(",\"histograms\":");
        write_list(&series.histograms, out, |(time, histogram), out| {
            write_histogram(*time, histogram, out);
        });
    }
    out.push('}');
}

/// Writes a list.
pub(crate) fn write_list<T>(items: &[T], out: &mut String, write: impl Fn(&T, &mut String)) {
    out.push('[');
    for (nth, item) in items.iter().enumerate() {
        if nth > 0 {
            out.push(',');
        }
        write(item, out);
    }
    out.push(']');
}

/// Writes labels as an object.
pub(super) fn write_labels(labels: &Labels, out: &mut String) {
    out.push('{');
    for (nth, label) in labels.iter().enumerate() {
        if nth > 0 {
            out.push(',');
        }
        write_text(&label.name, out);
        out.push(':');
        write_text(&label.value, out);
    }
    out.push('}');
}

/// Writes a text in quotes.
pub(crate) fn write_text(text: &str, out: &mut String) {
    let is_plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
    if text.bytes().all(is_plain) {
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        out.push_str(&serde_json::Value::from(text).to_string());
    }
}

/// Writes a moment, given in milliseconds, as seconds.
pub(crate) fn write_time(millis: i64, out: &mut String) {
    if millis < 0 {
        out.push('-');
    }
    let millis = millis.unsigned_abs();
    let mut digits = [0u8; 20];
    out.push_str(decimal(millis / 1000, &mut digits));
    if !millis.is_multiple_of(1000) {
        // Writing to a string cannot fail.
        let _ = write!(out, ".{:03}", millis % 1000);
    }
}

fn decimal(mut number: u64, digits: &mut [u8; 20]) -> &str {
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    // Digits are ASCII.
    std::str::from_utf8(&digits[at..]).unwrap_or_default()
}

/// Writes a number in quotes.
pub(super) fn write_float(value: f64, out: &mut String) {
    out.push('"');
    // Most values are small whole numbers.
    if value.fract() == 0.0 && value.abs() < 1e15 && (value != 0.0 || value.is_sign_positive()) {
        if value < 0.0 {
            out.push('-');
        }
        out.push_str(decimal(value.abs() as u64, &mut [0; 20]));
    } else {
        out.push_str(&format_json_float(value));
    }
    out.push('"');
}

pub(crate) fn write_point(time: i64, value: f64, out: &mut String) {
    out.push('[');
    write_time(time, out);
    out.push(',');
    write_float(value, out);
    out.push(']');
}

fn write_histogram(time: i64, histogram: &Histogram, out: &mut String) {
    out.push('[');
    write_time(time, out);
    out.push_str(",{\"count\":");
    write_plain_float(histogram.count, out);
    out.push_str(",\"sum\":");
    write_plain_float(histogram.sum, out);
    let buckets = histogram.json_buckets();
    if !buckets.is_empty() {
        out.push_str(",\"buckets\":");
        write_list(&buckets, out, |(rule, lower, upper, count), out| {
            // Writing to a string cannot fail.
            let _ = write!(out, "[{rule},");
            write_plain_float(*lower, out);
            out.push(',');
            write_plain_float(*upper, out);
            out.push(',');
            write_plain_float(*count, out);
            out.push(']');
        });
    }
    out.push_str("}]");
}

fn write_plain_float(value: f64, out: &mut String) {
    out.push('"');
    out.push_str(&format_float(value));
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl Fn(&mut String)) -> String {
        let mut text = String::new();
        write(&mut text);
        text
    }

    #[test]
    fn times_are_seconds_with_three_digits_if_any() {
        assert_eq!(written(|out| write_time(1_600_000_000_000, out)), "1600000000");
        assert_eq!(written(|out| write_time(1_600_000_000_050, out)), "1600000000.050");
        assert_eq!(written(|out| write_time(-1500, out)), "-1.500");
        assert_eq!(written(|out| write_time(i64::MIN, out)), "-9223372036854775.808");
    }

    #[test]
    fn numbers_are_written_as_go_does() {
        let text = |value| written(|out| write_float(value, out));
        assert_eq!(text(0.0), "\"0\"");
        assert_eq!(text(-0.0), "\"-0\"");
        assert_eq!(text(-5.0), "\"-5\"");
        assert_eq!(text(0.1), "\"0.1\"");
        assert_eq!(text(1e15), "\"1000000000000000\"");
        assert_eq!(text(1e21), "\"1e+21\"");
        assert_eq!(text(f64::NAN), "\"NaN\"");
        assert_eq!(text(f64::NEG_INFINITY), "\"-Inf\"");
    }

    #[test]
    fn labels_are_escaped_where_they_have_to_be() {
        let labels = Labels::of([("a", "x\"y\n"), ("b", "é")]);
        assert_eq!(written(|out| write_labels(&labels, out)), r#"{"a":"x\"y\n","b":"é"}"#);
    }
}
