use super::*;
use crate::ast::{BinaryOp, CompareOp, RangeOp, VectorOp};

fn kinds(text: &str) -> Vec<TokenKind> {
    let mut kinds: Vec<TokenKind> =
        tokens(text).unwrap().into_iter().map(|token| token.kind).collect();
    assert_eq!(kinds.pop(), Some(TokenKind::End));
    kinds
}

fn kind(text: &str) -> TokenKind {
    let mut kinds = kinds(text);
    assert_eq!(kinds.len(), 1, "{text}: {kinds:?}");
    kinds.remove(0)
}

#[test]
fn functions_are_names_unless_they_are_called() {
    assert_eq!(kind("rate"), TokenKind::Identifier);
    assert_eq!(kinds("rate (")[0], TokenKind::RangeOp(RangeOp::Rate));
    assert_eq!(kinds("SUM by (")[0], TokenKind::VectorOp(VectorOp::Sum));
    assert_eq!(kinds("sum without(")[0], TokenKind::VectorOp(VectorOp::Sum));
    assert_eq!(kinds("bytes > 5")[0], TokenKind::Identifier);
    assert_eq!(kind("JSON"), TokenKind::Word(Word::Json));
}

#[test]
fn numbers_with_units_are_durations_or_sizes() {
    assert_eq!(kind("5m"), TokenKind::Duration(300_000_000_000));
    assert_eq!(kind("1.5s"), TokenKind::Duration(1_500_000_000));
    assert_eq!(kind("1d"), TokenKind::Duration(86_400_000_000_000));
    assert_eq!(kind("-1m"), TokenKind::Duration(-60_000_000_000));
    assert_eq!(kind("1KiB"), TokenKind::Bytes(1024));
    assert_eq!(kind("1.5kB"), TokenKind::Bytes(1500));
    assert_eq!(kind("1e3"), TokenKind::Number);
    assert_eq!(kind(".5"), TokenKind::Number);
    assert_eq!(kinds("-1"), [TokenKind::Operator(BinaryOp::Sub), TokenKind::Number]);
    assert_eq!(kind("[1h30m]"), TokenKind::Range(5_400_000_000_000));
    assert_eq!(kind("[ 90000ms ]"), TokenKind::Range(90_000_000_000));
}

#[test]
fn signs_are_taken_as_long_as_they_are() {
    assert_eq!(
        kinds("|= | = == >= > !> # a comment\n|~"),
        [
            TokenKind::PipeContains,
            TokenKind::Pipe,
            TokenKind::Assign,
            TokenKind::Operator(BinaryOp::Compare(CompareOp::Equal)),
            TokenKind::Operator(BinaryOp::Compare(CompareOp::GreaterOrEqual)),
            TokenKind::Operator(BinaryOp::Compare(CompareOp::Greater)),
            TokenKind::NotPattern,
            TokenKind::PipeMatches,
        ]
    );
    assert_eq!(kind("--keep-empty"), TokenKind::Flag);
    assert_eq!(kinds("--loose").len(), 3);
}

#[test]
fn what_is_no_token_is_named_with_its_place() {
    for (text, message) in [
        (
            "a\n 'b'",
            "parse error at line 2, col 2: texts are written between \" or `, not between '",
        ),
        ("\"ab", "parse error at line 1, col 1: the text that begins here has no closing \""),
        (
            "{[1m:10s]",
            "parse error at line 1, col 2: \"1m:10s\" is no duration for a range: write it like 5m or 1h30m",
        ),
        ("[1m", "parse error at line 1, col 1: the range that begins here has no closing ]"),
        ("a;", "parse error at line 1, col 2: unexpected character ';'"),
        ("5x", "parse error at line 1, col 1: 5x is no number, duration or size"),
        (r#""\q""#, "parse error at line 1, col 1: \\q is no escape; write \\\\ for a backslash"),
    ] {
        assert_eq!(tokens(text).unwrap_err().to_string(), message);
    }
}
