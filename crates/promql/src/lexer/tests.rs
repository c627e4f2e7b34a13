use super::*;
use crate::ast::AggregateOp;

fn kinds(text: &str) -> Vec<TokenKind> {
    let tokens = tokens(text);
    assert_eq!(tokens.error, None, "{text}");
    tokens.list.iter().map(|token| token.kind).filter(|kind| *kind != TokenKind::End).collect()
}

fn error(text: &str) -> (usize, String) {
    let tokens = tokens(text);
    let last = tokens.list.last().unwrap();
    assert_eq!(last.kind, TokenKind::Bad, "{text}");
    (last.span.start, tokens.error.unwrap())
}

#[test]
fn numbers_are_read_in_all_their_forms() {
    for (literal, value) in [
        ("1", 1.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("0x1F", 31.0),
        ("0X_ff", 255.0),
        ("017", 15.0),
        ("08", 8.0),
        ("1_000.5", 1000.5),
        ("1e3", 1000.0),
        ("1E-2", 0.01),
        ("iNf", f64::INFINITY),
    ] {
        assert_eq!(kinds(literal), [TokenKind::Number], "{literal}");
        assert_eq!(number(literal), Ok(value), "{literal}");
    }
    assert!(number("NaN").unwrap().is_nan());
    assert!(number("1e999").unwrap_err().ends_with("value out of range"));
    for bad in ["0b1", "1__0", "1.2.3", "1e", "1_", "0x1.5", "1abc", "1x"] {
        assert!(error(bad).1.starts_with("bad number or duration syntax"), "{bad}");
    }
}

#[test]
fn durations_are_seconds() {
    for (literal, seconds) in [
        ("5m", 300.0),
        ("1h30m", 5400.0),
        ("1y2w3d4h5m6s7ms", 33_019_506.007),
        ("0s", 0.0),
        ("1500ms", 1.5),
    ] {
        assert_eq!(kinds(literal), [TokenKind::Duration], "{literal}");
        assert_eq!(duration(literal), Ok(seconds), "{literal}");
    }
    assert_eq!(duration("1m1h").unwrap_err(), "not a valid duration string: \"1m1h\"");
    assert_eq!(duration("5hs").unwrap_err(), "not a valid duration string: \"5hs\"");
    assert_eq!(duration("9999999y").unwrap_err(), "duration out of range");
}

#[test]
fn durations_are_written_in_the_largest_units() {
    for (seconds, text) in [
        (300.0, "5m"),
        (5400.5, "1h30m500ms"),
        (7.0 * 86_400.0, "1w"),
        (8.0 * 86_400.0, "8d"),
        (365.0 * 86_400.0, "1y"),
        (0.0, "0s"),
        (0.1, "100ms"),
        (1.001, "1s1ms"),
        (-2.002, "2s2ms"),
    ] {
        assert_eq!(duration_text(seconds), text);
    }
}

#[test]
fn texts_know_all_quotes_and_escapes() {
    for (literal, text) in [
        (r#""a\"b""#, "a\"b"),
        (r"'a\'\n\t\\'", "a'\n\t\\"),
        (r"`a\n`", r"a\n"),
        (r#""\x41\101\u00e9\U0001F600""#, "AAé😀"),
        (r#""\xc3\xa9\xff""#, "é\u{fffd}"),
        ("'日本'", "日本"),
    ] {
        assert_eq!(kinds(literal), [TokenKind::Text], "{literal}");
        assert_eq!(unquoted(literal), text, "{literal}");
    }
    for (bad, reason) in [
        (r#""a"#, "unterminated quoted string"),
        ("\"a\nb\"", "unterminated quoted string"),
        ("`a", "unterminated raw string"),
        (r#""\"#, "escape sequence not terminated"),
        (r#""\c""#, "unknown escape sequence U+0063 'c'"),
        (r#""\xg0""#, "illegal character U+0067 'g' in escape sequence"),
        (r#""\ud800""#, "escape sequence is an invalid Unicode code point"),
        (r#""\777""#, "escape sequence is an invalid Unicode code point"),
    ] {
        assert_eq!(error(bad), (0, reason.to_owned()), "{bad}");
    }
}

#[test]
fn words_mean_something_by_their_place() {
    assert_eq!(kinds("SUM"), [TokenKind::Aggregator(AggregateOp::Sum)]);
    assert_eq!(kinds("a:b"), [TokenKind::MetricIdentifier]);
    assert_eq!(
        kinds("{sum}"),
        [TokenKind::LeftBrace, TokenKind::Identifier, TokenKind::RightBrace]
    );
    assert_eq!(kinds("fill")[0], TokenKind::Identifier);
    assert_eq!(kinds("fill (1)")[0], TokenKind::Keyword(Keyword::Fill));
    assert_eq!(kinds("a # b\n c"), [TokenKind::Identifier; 2]);
}

#[test]
fn what_is_no_token_is_told_with_its_place() {
    for (text, at, reason) in [
        ("a $", 2, "unexpected character: '$'"),
        ("a\u{a0}", 1, r"unexpected character: '\u00a0'"),
        ("a !", 2, "unexpected character after '!': '\u{fffd}'"),
        ("a =~ b", 2, "unexpected character after '=': '~'"),
        ("(a", 2, "unclosed left parenthesis"),
        ("a)", 2, "unexpected right parenthesis ')'"),
        ("a[", 2, "unexpected end of input in duration expression"),
        ("a[5m", 4, "unclosed left bracket"),
        ("a]", 1, "unexpected right bracket ']'"),
        ("a[5m[", 4, "unexpected left bracket '['"),
        ("a[:5m]", 3, "unexpected colon before duration in duration expression"),
        ("a[5m:5m:]", 7, "unexpected colon ':'"),
        ("a[5m a]", 5, "unexpected character: 'a', expected ':'"),
        ("a[b]", 2, "unexpected character in duration expression: 'b'"),
        ("{a", 2, "unexpected end of input inside braces"),
        ("{a:", 2, "unexpected character inside braces: ':'"),
        ("{a!b", 2, "unexpected character after '!' inside braces: 'b'"),
        ("{{", 1, "unexpected left brace '{'"),
    ] {
        assert_eq!(error(text), (at, reason.to_owned()), "{text}");
    }
}
