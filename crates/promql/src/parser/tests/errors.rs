//! Errors are those of Prometheus, place included.

use super::*;

fn error(text: &str) -> String {
    parse(text).expect_err(text).to_string().replace(": parse error", "")
}

#[track_caller]
fn check(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(error(text), *expected, "{text}");
    }
}

#[test]
fn what_is_unexpected_is_named_with_its_place() {
    check(&[
        ("", "unknown position: no expression found in input"),
        ("# a", "1:1: no expression found in input"),
        ("1 +", "1:4: unexpected end of input"),
        ("a\n  b", "2:3: unexpected identifier \"b\""),
        ("a 'a long string'", "1:3: unexpected string \"'a long st\"..."),
        ("a = 5", "1:3: unexpected \"=\""),
        ("a == == b", "1:6: unexpected <op:==>"),
        ("a by b", "1:3: unexpected <by>"),
        ("a sum b", "1:3: unexpected <aggr:sum>"),
        ("a:b(c)", "1:4: unexpected \"(\""),
        ("(a + )", "1:6: unexpected \")\""),
        ("(a", "1:3: unclosed left parenthesis"),
        ("a + group_left b", "1:5: unexpected <group_left>"),
        ("a{b=\"c\"}{d=\"e\"}", "1:9: unexpected \"{\""),
        ("a b $", "1:3: unexpected identifier \"b\""),
        ("a $", "1:3: unexpected character: '$'"),
        ("a + fill(b) c", "1:10: unexpected identifier \"b\""),
    ]);
}

#[test]
fn errors_say_what_they_are_part_of() {
    check(&[
        ("sum(a b)", "1:7: unexpected identifier \"b\" in aggregation"),
        ("sum by (a) b", "1:12: unexpected identifier \"b\" in aggregation"),
        ("sum(a) b", "1:8: unexpected identifier \"b\""),
        ("sum(a) by b", "1:11: unexpected identifier \"b\" in grouping opts, expected \"(\""),
        ("sum(a) by (5)", "1:12: unexpected number \"5\" in grouping opts, expected label"),
        (
            "sum(a) by (b c)",
            "1:14: unexpected identifier \"c\" in grouping opts, expected \",\" or \")\"",
        ),
        ("sum(a) by ('')", "1:12: invalid label name for grouping: \"\""),
        ("a{5=\"b\"}", "1:3: unexpected character inside braces: '5'"),
        ("a{b}", "1:4: unexpected \"}\" in label matching, expected label matching operator"),
        ("a{b=c}", "1:5: unexpected identifier \"c\" in label matching, expected string"),
        ("a{,}", "1:3: unexpected \",\" in label matching, expected identifier or \"}\""),
        (
            "a{b='c' d='e'}",
            "1:9: unexpected identifier \"d\" in label matching, expected \",\" or \"}\"",
        ),
        (
            "a offset b",
            "1:10: unexpected identifier \"b\" in offset, expected number, duration, step(), or \
             range()",
        ),
        ("a @ b", "1:5: unexpected identifier \"b\" in @, expected timestamp"),
        ("a @ start(1)", "1:11: unexpected number \"1\" in @, expected timestamp"),
        (
            "a[]",
            "1:3: unexpected \"]\" in subquery or range selector, expected number, duration, \
             step(), or range()",
        ),
        (
            "a[5m +]",
            "1:7: unexpected \"]\" in subquery or range selector, expected number, duration, \
             step(), or range()",
        ),
        (
            "a[5m 5m]",
            "1:6: unexpected duration \"5m\" in subquery or range, expected \":\" or \"]\"",
        ),
        (
            "a[5m:*]",
            "1:6: unexpected <op:*> in subquery selector, expected number, duration, step(), \
             range(), or \"]\"",
        ),
        ("a[5m:5m 5m]", "1:9: unexpected duration \"5m\" in subquery selector, expected \"]\""),
    ]);
}

#[test]
fn calls_are_checked() {
    check(&[
        ("foo(a)", "1:1: unknown function with name \"foo\""),
        ("abs(a,)", "1:6: trailing commas not allowed in function call args"),
        ("abs()", "1:1: expected 1 argument(s) in call to \"abs\", got 0"),
        ("round(a, 1, 2)", "1:1: expected at most 2 argument(s) in call to \"round\", got 3"),
        (
            "label_join(a, 'b')",
            "1:1: expected at least 3 argument(s) in call to \"label_join\", got 2",
        ),
        (
            "1 + rate(a)",
            "1:10: expected type range vector in call to function \"rate\", got instant vector",
        ),
        (
            "sort_by_label(a, 'b', 3)",
            "1:23: expected type string in call to function \"sort_by_label\", got scalar",
        ),
        ("sum()", "1:1: no arguments for aggregate expression provided"),
        (
            "topk(a)",
            "1:1: wrong number of arguments for aggregate expression provided, expected 2, got 1",
        ),
        ("sum(1)", "1:5: expected type instant vector in aggregation expression, got scalar"),
        ("count_values(1, a)", "1:14: expected type string in aggregation parameter, got scalar"),
        ("info(a, b)", "1:9: expected label selectors only, got vector selector instead"),
        ("info(a, abs(b))", "1:9: expected label selectors only"),
        (
            "info(a, 1)",
            "1:1: expected type instant vector in call to function \"info\", got scalar",
        ),
    ]);
    read("info(a, {b=~\".*\"})");
    read("label_join(a, 'b', 'c')");
}

#[test]
fn operators_are_checked() {
    check(&[
        ("1 == 1", "1:3: comparisons between scalars must use BOOL modifier"),
        ("a + bool b", "1:3: bool modifier can only be used on comparison operators"),
        ("a and 1", "1:1: set operator \"and\" not allowed in binary scalar expression"),
        ("a + on(b) 1", "1:1: vector matching only allowed between instant vectors"),
        ("a or on(b) group_left c", "1:1: no grouping allowed for \"or\" operation"),
        (
            "a + on(b) group_left(b) c",
            "1:3: label \"b\" must not occur in ON and GROUP clause at once",
        ),
        ("a + 'b'", "1:5: binary expression must contain only scalar and instant vector types"),
        ("a or fill(1) b", "1:1: filling in missing series not allowed for set operators"),
        ("a + fill(1) 1", "1:1: filling in missing series only allowed between instant vectors"),
        (
            "-a[5m]",
            "1:1: unary expression only allowed on expressions of type scalar or instant vector, \
             got \"range vector\"",
        ),
        ("1[5m:]", "1:1: subquery is only allowed on instant vector, got scalar instead"),
    ]);
}

#[test]
fn selectors_and_their_modifiers_are_checked() {
    check(&[
        ("{}", "1:1: vector selector must contain at least one non-empty matcher"),
        ("{a=~\".*\"}", "1:1: vector selector must contain at least one non-empty matcher"),
        ("a{__name__='b'}", "1:1: metric name must not be set twice: \"a\" or \"b\""),
        ("a{b=~'('}", "1:3: error parsing regexp: missing closing ): `(`"),
        ("a{b=~'a)'}", "1:3: error parsing regexp: unexpected ): `a)`"),
        (
            "a{b=~'é*+|*c'}",
            "1:3: error parsing regexp: missing argument to repetition operator: `*`",
        ),
        ("a{b=~'a[b'}", "1:3: error parsing regexp: missing closing ]: `[b`"),
        ("(a)[5m]", "1:4: ranges only allowed for vector selectors"),
        ("a offset 5m [5m]", "1:13: no offset modifiers allowed before range"),
        ("a @ 5 [5m]", "1:7: no @ modifiers allowed before range"),
        ("a offset 5m offset 5m", "1:1: offset may not be set multiple times"),
        ("a @ 5 @ 5", "1:1: @ <timestamp> may not be set multiple times"),
        ("a @ Inf", "1:1: timestamp out of bounds for @ modifier: +Inf"),
        (
            "1 offset 5m",
            "1:1: offset modifier must be preceded by an instant vector selector or range vector \
             selector or a subquery",
        ),
        ("a[0s]", "1:3: duration must be greater than 0"),
        ("a[-5m]", "1:3: duration must be greater than 0"),
        ("a[1e18]", "1:3: duration out of range"),
        ("a[5m / 0]", "1:6: division by zero"),
        ("a[1m1h]", "1:3: not a valid duration string: \"1m1h\""),
        ("a anchored smoothed", "1:1: anchored and smoothed modifiers cannot be used together"),
        ("a[5m:] smoothed", "1:1: smoothed modifier is not supported for subqueries"),
    ]);
}

#[test]
fn what_is_not_enabled_is_refused() {
    let options = ParseOptions {
        experimental_functions: false,
        duration_expressions: false,
        extended_ranges: false,
        fill_modifiers: false,
    };
    for (text, expected) in [
        ("info(a)", "function \"info\" is not enabled"),
        (
            "limitk(1, a)",
            "limitk() is experimental and must be enabled with \
             --enable-feature=promql-experimental-functions",
        ),
        ("a[1m + 1m]", "experimental duration expression is not enabled"),
        ("a offset (1m)", "experimental duration expression is not enabled"),
        ("a[step()]", "experimental duration expression is not enabled"),
        ("a[5m] anchored", "anchored modifier is experimental and not enabled"),
        ("a + fill(1) b", "binop fill modifiers are experimental and not enabled"),
    ] {
        let error = parse_with(text, &options).expect_err(text);
        assert_eq!(error.message, expected, "{text}");
        read(text);
    }
    parse_with("rate(a[5m] offset -1m) @ 5", &options).expect_err("no selector");
    parse_with("rate(a[5m] @ 5 offset -1m)", &options).unwrap();
}
