//! Units by a golden file: `tests/units.test`.

use kymo_dash::fields::units::{Clock, format};
use kymo_dash::frame::parse_number;

#[test]
fn numbers_are_written_as_grafana_writes_them() {
    let text = include_str!("units.test");
    let (mut count, mut failures) = (0, Vec::new());
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let parts: Vec<&str> = line.split('|').collect();
        let [id, value, decimals, prefix, text, suffix] = parts[..] else { panic!("{line}") };
        let value = parse_number(value).unwrap();
        let found = format(id, value, decimals.parse().ok(), &Clock::default());
        count += 1;
        // Grafana has the sign of some currencies in the prefix, where here the digits have it.
        if found.whole() != [prefix, text, suffix].concat() {
            failures.push(format!("{line} but found {found:?}"));
        }
    }
    assert!(count > 1000, "only {count} lines were found");
    assert!(failures.is_empty(), "{} of {count}:\n{}", failures.len(), failures.join("\n"));
}
