//! Methods of times: `{{ (toTime $value).Format "15:04" }}`.

use super::value::Value;
use crate::time::Civil;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// What stands for a part of a time in Go's layouts, the longer before what they begin with.
const LAYOUT: [&str; 27] = [
    "January", "Monday", "Z07:00", "-07:00", "Z0700", "-0700", "2006", "Jan", "Mon", "MST", "002",
    "01", "02", "03", "04", "05", "06", "15", "PM", "pm", "_2", "-07", "1", "2", "3", "4", "5",
];

/// A method of a time; `None` if there is no such method.
pub(super) fn method(nanos: i64, name: &str, arguments: &[Value]) -> Option<Value> {
    let civil = Civil::of(nanos);
    Some(match (name, arguments) {
        ("Year", []) => Value::Int(civil.year),
        ("Month", []) => Value::text(month(&civil)),
        ("Day", []) => Value::Int(civil.day),
        ("Weekday", []) => Value::text(weekday(&civil)),
        ("Hour", []) => Value::Int(civil.hour),
        ("Minute", []) => Value::Int(civil.minute),
        ("Second", []) => Value::Int(civil.second),
        ("Unix", []) => Value::Int(nanos.div_euclid(1_000_000_000)),
        ("UTC", []) => Value::Time(nanos),
        ("Format", [Value::Text(layout)]) => Value::text(format(&civil, layout)),
        _ => return None,
    })
}

fn month(civil: &Civil) -> &'static str {
    usize::try_from(civil.month - 1).ok().and_then(|at| MONTHS.get(at)).unwrap_or(&"")
}

fn weekday(civil: &Civil) -> &'static str {
    usize::try_from(civil.weekday).ok().and_then(|at| DAYS.get(at)).unwrap_or(&"")
}

fn format(civil: &Civil, layout: &str) -> String {
    let mut out = String::new();
    let mut rest = layout;
    while let Some(first) = rest.chars().next() {
        if let Some(word) = LAYOUT.iter().find(|word| rest.starts_with(**word)) {
            out.push_str(&part(civil, word));
            rest = &rest[word.len()..];
            continue;
        }
        let digits = rest.chars().skip(1).take_while(|c| matches!(c, '0' | '9')).count();
        if matches!(first, '.' | ',') && digits > 0 {
            out.push_str(&fraction(civil, first, &rest[1..=digits]));
            rest = &rest[1 + digits..];
            continue;
        }
        out.push(first);
        rest = &rest[first.len_utf8()..];
    }
    out
}

/// `.000` writes so many decimals, `.999` leaves zeros at the end out.
fn fraction(civil: &Civil, point: char, digits: &str) -> String {
    let all = format!("{:09}", civil.nanos);
    let cut = &all[..digits.len().min(9)];
    if digits.starts_with('0') {
        return format!("{point}{cut}");
    }
    match cut.trim_end_matches('0') {
        "" => String::new(),
        cut => format!("{point}{cut}"),
    }
}

fn part(civil: &Civil, word: &str) -> String {
    let hour12 = if civil.hour % 12 == 0 { 12 } else { civil.hour % 12 };
    match word {
        "2006" => format!("{:04}", civil.year),
        "06" => format!("{:02}", civil.year.rem_euclid(100)),
        "January" => month(civil).to_owned(),
        "Jan" => month(civil).chars().take(3).collect(),
        "01" => format!("{:02}", civil.month),
        "1" => civil.month.to_string(),
        "Monday" => weekday(civil).to_owned(),
        "Mon" => weekday(civil).chars().take(3).collect(),
        "02" => format!("{:02}", civil.day),
        "_2" => format!("{:2}", civil.day),
        "2" => civil.day.to_string(),
        "15" => format!("{:02}", civil.hour),
        "03" => format!("{hour12:02}"),
        "3" => hour12.to_string(),
        "04" => format!("{:02}", civil.minute),
        "4" => civil.minute.to_string(),
        "05" => format!("{:02}", civil.second),
        "5" => civil.second.to_string(),
        "PM" => if civil.hour < 12 { "AM" } else { "PM" }.to_owned(),
        "pm" => if civil.hour < 12 { "am" } else { "pm" }.to_owned(),
        "MST" => "UTC".to_owned(),
        "Z07:00" | "Z0700" => "Z".to_owned(),
        "-07:00" => "+00:00".to_owned(),
        "-0700" => "+0000".to_owned(),
        "-07" => "+00".to_owned(),
        other => other.to_owned(),
    }
}
