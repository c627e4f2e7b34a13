use super::*;

const GOOD: &str = r#"
groups:
  - name: example
    interval: 30s
    query_offset: 1m
    limit: 10
    labels: {team: a, severity: none}
    rules:
      - record: job:up:sum
        expr: |
          sum by(job)
            (up)
      - alert: Down
        expr: up == 0
        for: 5m
        keep_firing_for: 10m
        labels:
          severity: page
          level: 1
        annotations:
          summary: "{{ $labels.instance }} is down"
      - record: spans:rate
        traceql: '{ } | rate() by (resource.service.name)'
  - name: empty
"#;

fn parse(text: &str) -> Result<Vec<Group>, RuleError> {
    RuleFiles::parse(text, Path::new("r.yml"))
}

#[test]
fn a_file_is_read_with_all_its_keys() {
    let groups = parse(GOOD).unwrap();
    let group = &groups[0];
    assert_eq!((group.name.as_str(), group.limit), ("example", 10));
    assert_eq!(group.interval, Some(Duration::from_secs(30)));
    assert_eq!(group.query_offset, Some(Duration::from_secs(60)));
    assert_eq!(group.rules[0].query.to_string(), "sum by (job) (up)");
    assert_eq!(group.rules[0].labels["team"], "a");
    let RuleKind::Alerting(alerting) = &group.rules[1].kind else { panic!("it is an alert") };
    assert_eq!(alerting.hold, Duration::from_secs(300));
    assert_eq!(alerting.keep_firing_for, Duration::from_secs(600));
    assert_eq!(group.rules[1].labels["severity"], "page", "the rule's label wins");
    assert_eq!(group.rules[1].labels["level"], "1");
    assert_eq!(alerting.annotations[0].1.source(), "{{ $labels.instance }} is down");
    assert!(matches!(group.rules[2].query, Query::TraceQl(_)));
    assert_eq!((groups[1].name.as_str(), groups[1].rules.len()), ("empty", 0));
    assert_eq!(parse("").unwrap(), []);
    assert_eq!(parse("groups:\n").unwrap(), []);
}

#[test]
fn layout_and_place_of_an_expression_do_not_change_a_group() {
    let moved = GOOD.replace("up == 0", "up==0").replace("groups:", "# more\n\ngroups:");
    assert_eq!(parse(GOOD), parse(&moved));
    assert_ne!(parse(GOOD), parse(&GOOD.replace("up == 0", "up == 1")));
}

#[test]
fn what_is_wrong_is_refused_with_its_line() {
    let in_group = |keys: &str| format!("groups:\n  - name: g\n    {keys}\n");
    let in_rule = |keys: &str| in_group(&format!("rules:\n      - {keys}"));
    for (text, expected) in [
        ("group: []".to_owned(), "r.yml:1:1: group is not a known key; did you mean groups?"),
        (
            in_group("intervall: 1s"),
            "r.yml:3:5: intervall is not a known key; did you mean interval?",
        ),
        (
            in_group("interval: fast"),
            "r.yml:3:15: not a valid duration string: \"fast\"; expected such as 5m",
        ),
        (
            in_group("interval: 1ms"),
            "r.yml:2:5: interval of group \"g\" is 1ms; expected at least 10ms",
        ),
        ("groups:\n  - rules: []\n".to_owned(), "r.yml:2:5: Groupname must not be empty"),
        (
            "groups:\n  - name: g\n  - name: g\n".to_owned(),
            "r.yml:3:5: groupname: \"g\" is repeated in the same file",
        ),
        (in_group("labels: {__name__: x}"), "r.yml:3:13: invalid label name: __name__"),
        (
            in_rule("record: a\n        expr: sum(\n"),
            "r.yml:5:15: group \"g\", rule 1, \"a\": could not parse expression: 1:5: parse error: \
             unclosed left parenthesis",
        ),
        (
            in_rule("record: a\n        alert: b\n        expr: up"),
            "r.yml:5:16: group \"g\", rule 1, \"b\": only one of 'record' and 'alert' must be set",
        ),
        (
            in_rule("expr: up"),
            "r.yml:4:9: group \"g\", rule 1, \"\": one of 'record' or 'alert' must be set",
        ),
        (
            in_rule("record: a"),
            "r.yml:4:9: group \"g\", rule 1, \"a\": field 'expr' must be set in rule",
        ),
        (
            in_rule("record: a\n        expr: up\n        traceql: '{}'"),
            "r.yml:6:18: group \"g\", rule 1, \"a\": only one of 'expr' and 'traceql' must be set",
        ),
        (
            in_rule("record: a\n        traceql: '{ }'"),
            "r.yml:5:18: group \"g\", rule 1, \"a\": traceql must be a metrics query, such as { } | rate()",
        ),
        (
            in_rule("record: a\n        expr: up\n        for: 1m"),
            "r.yml:4:17: group \"g\", rule 1, \"a\": invalid field 'for' in recording rule",
        ),
        (
            in_rule("record: a\n        expr: up\n        annotations: {a: b}"),
            "r.yml:4:17: group \"g\", rule 1, \"a\": invalid field 'annotations' in recording rule",
        ),
        (
            in_rule("record: 'a{b}'\n        expr: up"),
            "r.yml:4:17: group \"g\", rule 1, \"a{b}\": braces present in the recording rule name; should it be in expr?: a{b}",
        ),
        (
            in_rule("alert: a\n        expr: up\n        labels: {__name__: b}"),
            "r.yml:6:17: group \"g\", rule 1, \"a\": invalid label name: __name__",
        ),
        (
            in_rule("alert: a\n        expr: up\n        annotations: {s: '{{ $x }}'}"),
            "r.yml:6:22: group \"g\", rule 1, \"a\": annotation \"s\": error parsing template __alert_a: \
             template: __alert_a:1: undefined variable \"$x\"",
        ),
        (
            in_rule("alert: a\n        expr: up\n        labels: {s: '{{ end }}'}"),
            "r.yml:6:17: group \"g\", rule 1, \"a\": label \"s\": error parsing template __alert_a: \
             template: __alert_a:1: unexpected {{end}}",
        ),
        (
            in_rule(
                "record: a\n        expr: up\n      - record: a\n        expr: ( up )\n      - record: a\n        expr: up",
            ),
            "r.yml:8:9: group \"g\", rule 3, \"a\": duplicate rule: there is one with the same name, \
             labels and expression; remove one of them",
        ),
        (
            in_rule("record: a\n        record: b\n        expr: up"),
            "r.yml:5:9: record is there twice; remove one of them",
        ),
    ] {
        let found = parse(&text).unwrap_err().to_string();
        assert_eq!(found, expected, "{text}");
    }
    assert!(parse("groups: [").is_err());
    assert!(parse("- a").is_err());
}

#[test]
fn files_are_found_by_patterns_and_read_once() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
    write("b.yml", "groups: [{name: b}]");
    write("a.yml", "groups: [{name: a}]");
    let patterns = ["*.yml", "a.*", "none*.yml"].map(|name| directory.path().join(name));
    let groups = RuleFiles::load(&patterns).unwrap();
    assert_eq!(groups.iter().map(|group| group.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    write("c.yml", "groups: [{name: ''}]");
    let error = RuleFiles::load(&patterns).unwrap_err().to_string();
    assert!(error.ends_with("c.yml:1:10: Groupname must not be empty"), "{error}");
}
