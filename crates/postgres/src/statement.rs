//! Which statements there are in a text, and what they are.
//!
//! Queries are the engine's. What drivers send around them (settings, transactions, cursors) is known
//! by its first words and answered here.

use crate::error::{PgError, code};
use crate::limits::MAX_STATEMENTS_IN_TEXT;

/// A statement of a text, and how many characters stand before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) text: String,
    pub(crate) before: usize,
}

/// What a statement is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Command {
    /// Nothing.
    Empty,
    /// For the engine.
    Query,
    /// A setting that gets a value, for the transaction or for longer; none if its first one.
    Set {
        name: String,
        value: Option<String>,
        is_local: bool,
    },
    /// All settings get their first values.
    ResetAll,
    /// A setting that is asked for, or all.
    Show(String),
    Begin,
    Commit,
    Rollback,
    /// Back to a savepoint. There is nothing to take back, but a failed transaction goes on.
    RollbackTo,
    /// Something that is accepted and does nothing.
    Nothing(&'static str),
    DiscardAll,
    /// A prepared statement that is forgotten, or all.
    Deallocate(Option<String>),
    /// A cursor and its query.
    Declare {
        cursor: String,
        query: Part,
    },
    /// Rows of a cursor; none for all that are left.
    Fetch {
        cursor: String,
        rows: Option<usize>,
    },
    /// A cursor that is closed, or all.
    Close(Option<String>),
}

impl Command {
    /// What clients are told when it has been done.
    pub(crate) fn tag(&self) -> &'static str {
        match self {
            Self::Empty => "",
            Self::Query => "SELECT",
            Self::Set { value: Some(_), .. } => "SET",
            Self::Set { value: None, .. } | Self::ResetAll => "RESET",
            Self::Show(_) => "SHOW",
            Self::Begin => "BEGIN",
            Self::Commit => "COMMIT",
            Self::Rollback | Self::RollbackTo => "ROLLBACK",
            Self::Nothing(tag) => tag,
            Self::DiscardAll => "DISCARD ALL",
            Self::Deallocate(Some(_)) => "DEALLOCATE",
            Self::Deallocate(None) => "DEALLOCATE ALL",
            Self::Declare { .. } => "DECLARE CURSOR",
            Self::Fetch { .. } => "FETCH",
            Self::Close(Some(_)) => "CLOSE CURSOR",
            Self::Close(None) => "CLOSE CURSOR ALL",
        }
    }

    /// Whether it may be said when a transaction has failed.
    pub(crate) fn follows_failure(&self) -> bool {
        matches!(self, Self::Commit | Self::Rollback | Self::RollbackTo)
    }

    /// What a statement is.
    pub(crate) fn of(text: &str) -> Result<Self, PgError> {
        let words = Words::of(text);
        let word = |place: usize| words.upper(place);
        Ok(match word(0).as_str() {
            "" => Self::Empty,
            "SET" => set(&words)?,
            "RESET" if word(1) == "ALL" => Self::ResetAll,
            "RESET" => Self::Set { name: words.name(1)?, value: None, is_local: false },
            "SHOW" if is_for_engine(&word(1)) => Self::Query,
            "SHOW" if word(1) == "TRANSACTION" => Self::Show("transaction_isolation".to_owned()),
            "SHOW" if word(1) == "TIME" => Self::Show("TimeZone".to_owned()),
            "SHOW" => Self::Show(words.name(1)?),
            "BEGIN" => Self::Begin,
            "START" if word(1) == "TRANSACTION" => Self::Begin,
            "COMMIT" | "END" => Self::Commit,
            "ROLLBACK" if word(1) == "TO" || word(2) == "TO" => Self::RollbackTo,
            "ROLLBACK" | "ABORT" => Self::Rollback,
            "SAVEPOINT" => Self::Nothing("SAVEPOINT"),
            "RELEASE" => Self::Nothing("RELEASE"),
            "UNLISTEN" => Self::Nothing("UNLISTEN"),
            "DISCARD" if word(1) == "ALL" => Self::DiscardAll,
            "DISCARD" => Self::Nothing("DISCARD"),
            "DEALLOCATE" => {
                let place = if word(1) == "PREPARE" { 2 } else { 1 };
                let all = word(place) == "ALL";
                Self::Deallocate(if all { None } else { Some(words.name(place)?) })
            }
            "DECLARE" => declare(text, &words)?,
            "FETCH" => fetch(&words)?,
            "CLOSE" if word(1) == "ALL" => Self::Close(None),
            "CLOSE" => Self::Close(Some(words.name(1)?)),
            "COPY" | "LISTEN" | "NOTIFY" | "LOCK" | "MOVE" => {
                let message = format!("{} is not offered here", word(0));
                return Err(PgError::new(code::NOT_OFFERED, message));
            }
            _ => Self::Query,
        })
    }
}

/// What the engine shows.
fn is_for_engine(word: &str) -> bool {
    matches!(word, "TABLES" | "COLUMNS" | "VIEWS")
}

fn set(words: &Words) -> Result<Command, PgError> {
    let (first, is_local) = match words.upper(1).as_str() {
        "SESSION" => (2, false),
        "LOCAL" => (2, true),
        _ => (1, false),
    };
    let second = words.upper(first + 1);
    match (words.upper(first).as_str(), second.as_str()) {
        // The isolation of transactions that are none; roles that are the same.
        ("TRANSACTION", _) | ("CHARACTERISTICS", _) | ("CONSTRAINTS", _) | ("ROLE", _) => {
            return Ok(Command::Nothing("SET"));
        }
        ("AUTHORIZATION", _) => return Ok(Command::Nothing("SET")),
        ("TIME", "ZONE") => {
            let value = words.values(first + 2);
            return Ok(Command::Set { name: "TimeZone".to_owned(), value: Some(value), is_local });
        }
        ("NAMES", _) => {
            let value = words.values(first + 1);
            let name = "client_encoding".to_owned();
            return Ok(Command::Set { name, value: Some(value), is_local });
        }
        _ => {}
    }
    if second != "=" && second != "TO" {
        let message = "syntax: expected SET name TO value";
        return Err(PgError::new(code::SYNTAX, message));
    }
    let name = words.name(first)?;
    let value = words.values(first + 2);
    let is_default = words.upper(first + 2) == "DEFAULT";
    Ok(Command::Set { name, value: (!is_default).then_some(value), is_local })
}

/// `DECLARE name … CURSOR … FOR query`.
fn declare(text: &str, words: &Words) -> Result<Command, PgError> {
    let expected =
        || PgError::new(code::SYNTAX, "syntax: expected DECLARE name CURSOR FOR SELECT …");
    let upper = |place: usize| words.upper(place);
    let count = words.0.len();
    let cursor = (2..count).find(|place| upper(*place) == "CURSOR").ok_or_else(expected)?;
    let begins = (cursor..count).find(|place| upper(*place) == "FOR").ok_or_else(expected)?;
    let begin = words.0[begins].end;
    let query = Part { text: text[begin..].to_owned(), before: text[..begin].chars().count() };
    Ok(Command::Declare { cursor: words.name(1)?, query })
}

/// `FETCH [FORWARD] [n | ALL | NEXT] [FROM | IN] name`.
fn fetch(words: &Words) -> Result<Command, PgError> {
    let mut place = 1;
    if words.upper(place) == "FORWARD" {
        place += 1;
    }
    let mut rows = Some(1);
    match words.upper(place).as_str() {
        "ALL" => (rows, place) = (None, place + 1),
        "NEXT" => place += 1,
        "BACKWARD" | "PRIOR" | "FIRST" | "LAST" | "ABSOLUTE" | "RELATIVE" => {
            let message = "a cursor only goes forward here";
            return Err(PgError::new(code::NOT_OFFERED, message));
        }
        number => {
            if let Ok(number) = number.parse::<usize>() {
                (rows, place) = (Some(number), place + 1);
            }
        }
    }
    if matches!(words.upper(place).as_str(), "FROM" | "IN") {
        place += 1;
    }
    Ok(Command::Fetch { cursor: words.name(place)?, rows })
}

/// A word of a statement.
#[derive(Debug)]
struct Word {
    text: String,
    is_quoted: bool,
    /// The byte behind it.
    end: usize,
}

/// The first words of a statement, as far as commands go.
#[derive(Debug)]
struct Words(Vec<Word>);

impl Words {
    /// Words beyond those of any command are not looked at.
    const MOST: usize = 64;

    fn of(text: &str) -> Self {
        let mut words = Vec::new();
        let mut rest = Scanner { text, at: 0 };
        while let Some(word) = rest.word() {
            words.push(word);
            if words.len() == Self::MOST {
                break;
            }
        }
        Self(words)
    }

    /// A word in capitals; nothing if there is none or if it is quoted.
    fn upper(&self, place: usize) -> String {
        let word = self.0.get(place).filter(|word| !word.is_quoted);
        word.map_or_else(String::new, |word| word.text.to_uppercase())
    }

    /// A name: as it is in quotes, in lower case without.
    fn name(&self, place: usize) -> Result<String, PgError> {
        match self.0.get(place) {
            Some(word) if word.is_quoted => Ok(word.text.clone()),
            Some(word) => Ok(word.text.to_lowercase()),
            None => Err(PgError::new(code::SYNTAX, "syntax: a name is missing at the end")),
        }
    }

    /// All words from one on, as the value of a setting.
    fn values(&self, from: usize) -> String {
        let values = self.0.iter().skip(from).filter(|word| word.text != "," || word.is_quoted);
        values.map(|word| word.text.as_str()).collect::<Vec<_>>().join(", ")
    }
}

/// A text that is read from its beginning.
struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl Scanner<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    /// Goes past spaces and comments.
    fn skip(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            match self.comment() {
                0 => return,
                bytes => self.at += bytes,
            }
        }
    }

    /// The bytes of a comment that begins here.
    fn comment(&self) -> usize {
        let rest = self.rest();
        if rest.starts_with("--") {
            return rest.find('\n').map_or(rest.len(), |end| end + 1);
        }
        if !rest.starts_with("/*") {
            return 0;
        }
        let (mut depth, bytes) = (0_usize, rest.as_bytes());
        let mut at = 0;
        while at + 1 < bytes.len() {
            match &bytes[at..at + 2] {
                b"/*" => (depth, at) = (depth + 1, at + 2),
                b"*/" => {
                    (depth, at) = (depth - 1, at + 2);
                    if depth == 0 {
                        return at;
                    }
                }
                _ => at += 1,
            }
        }
        rest.len()
    }

    /// The bytes of something in quotes that begins here: text, a name, text between dollars.
    fn quoted(&self) -> usize {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        let escapes = matches!(bytes, [b'e' | b'E', b'\'', ..]);
        let begin = usize::from(escapes);
        match bytes.get(begin) {
            Some(quote @ (b'\'' | b'"')) => {
                let mut at = begin + 1;
                while at < bytes.len() {
                    let is_escaped = escapes && bytes[at] == b'\\';
                    let is_doubled = bytes[at] == *quote && bytes.get(at + 1) == Some(quote);
                    if is_escaped || is_doubled {
                        at += 2;
                    } else if bytes[at] == *quote {
                        return at + 1;
                    } else {
                        at += 1;
                    }
                }
                rest.len()
            }
            Some(b'$') => {
                let Some(end) = rest[1..].find('$') else { return 0 };
                let tag = &rest[..end + 2];
                let inner = &tag[1..tag.len() - 1];
                let is_tag = inner.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
                    && !inner.starts_with(|letter: char| letter.is_ascii_digit());
                if !is_tag {
                    return 0;
                }
                let body = &rest[tag.len()..];
                body.find(tag).map_or(rest.len(), |end| end + 2 * tag.len())
            }
            _ => 0,
        }
    }

    /// The next word, sign, or text in quotes.
    fn word(&mut self) -> Option<Word> {
        self.skip();
        let begin = self.at;
        let first = self.rest().chars().next()?;
        let quoted = self.quoted();
        if quoted > 0 {
            self.at = (begin + quoted).min(self.text.len());
            let text = &self.text[begin..self.at];
            let quote = if text.starts_with('"') { '"' } else { '\'' };
            let inner = text.trim_start_matches(['e', 'E']);
            let inner = inner.strip_prefix(quote).unwrap_or(inner);
            let inner = inner.strip_suffix(quote).unwrap_or(inner);
            let inner = inner.replace(&format!("{quote}{quote}"), &quote.to_string());
            return Some(Word { text: inner, is_quoted: true, end: self.at });
        }
        let is_part = |letter: char| letter.is_alphanumeric() || "_.-+".contains(letter);
        let length = match is_part(first) {
            true => self.rest().find(|letter| !is_part(letter)).unwrap_or(self.rest().len()),
            false => first.len_utf8(),
        };
        self.at += length;
        let text = self.text[begin..self.at].to_owned();
        if text == ";" {
            return None;
        }
        Some(Word { text, is_quoted: false, end: self.at })
    }
}

/// The statements of a text, as far as they are found.
struct Parts<'a> {
    text: &'a str,
    found: Vec<Part>,
    /// Bytes whose characters are counted, and the characters.
    counted: (usize, usize),
}

impl Parts<'_> {
    fn push(&mut self, begin: usize, end: usize) -> Result<(), PgError> {
        if self.found.len() == MAX_STATEMENTS_IN_TEXT {
            let message = format!("more than {MAX_STATEMENTS_IN_TEXT} statements come at once");
            return Err(PgError::new(code::TOO_MUCH, message));
        }
        let (bytes, characters) = self.counted;
        let before = characters + self.text[bytes..begin].chars().count();
        self.counted = (begin, before);
        self.found.push(Part { text: self.text[begin..end].to_owned(), before });
        Ok(())
    }
}

/// The statements of a text.
pub(crate) fn split(text: &str) -> Result<Vec<Part>, PgError> {
    let mut parts = Parts { text, found: Vec::new(), counted: (0, 0) };
    let mut scanner = Scanner { text, at: 0 };
    let (mut begin, mut has_content) = (0, false);
    while scanner.at < text.len() {
        let comment = scanner.comment();
        if comment > 0 {
            scanner.at += comment;
            continue;
        }
        let quoted = scanner.quoted();
        let Some(first) = scanner.rest().chars().next() else { break };
        if quoted > 0 {
            (scanner.at, has_content) = ((scanner.at + quoted).min(text.len()), true);
            continue;
        }
        if first == ';' {
            if has_content {
                parts.push(begin, scanner.at)?;
            }
            (begin, has_content) = (scanner.at + 1, false);
        }
        has_content |= first != ';' && !first.is_whitespace();
        scanner.at += first.len_utf8();
        // The E of E'…' belongs to it; that of a name does not.
        let is_word = first.is_alphanumeric() || first == '_';
        if is_word {
            let rest = scanner.rest();
            let more = rest.find(|letter: char| !(letter.is_alphanumeric() || letter == '_'));
            scanner.at += more.unwrap_or(rest.len());
        }
    }
    if has_content {
        parts.push(begin, text.len())?;
    }
    Ok(parts.found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        split(text).unwrap().into_iter().map(|part| part.text.trim().to_owned()).collect()
    }

    #[test]
    fn statements_end_at_semicolons_that_are_not_in_something_else() {
        assert_eq!(texts("SELECT 1; SELECT 2;"), ["SELECT 1", "SELECT 2"]);
        assert_eq!(
            texts("SELECT ';', \";\", E'\\';' -- ;\n, $$;$$, $a$;$$;$a$ /* ; /* */ ; */"),
            ["SELECT ';', \";\", E'\\';' -- ;\n, $$;$$, $a$;$$;$a$ /* ; /* */ ; */"]
        );
        assert_eq!(texts(" ; ;; -- nothing\n"), Vec::<String>::new());
        assert_eq!(texts("SELECT 'no end; "), ["SELECT 'no end;"]);
        assert_eq!(texts("SELECT $1; SELECT $2"), ["SELECT $1", "SELECT $2"]);
        assert_eq!(texts("SELECT name'x;'"), ["SELECT name'x;'"]);
        let parts = split("SELECT 'ü'; SELECT 2").unwrap();
        assert_eq!(parts[1].before, 11);
    }

    #[test]
    fn texts_that_end_anywhere_are_read() {
        let text = "SET a TO 'ü'; /* x */ SELECT E'\\'', $a$ü$a$, \"x\" -- ü\n; FETCH 1 FROM c";
        for (end, _) in text.char_indices() {
            for part in split(&text[..end]).unwrap() {
                let _ = Command::of(&part.text);
            }
        }
        let most = ";SELECT 1".repeat(MAX_STATEMENTS_IN_TEXT);
        assert_eq!(split(&most).unwrap().len(), MAX_STATEMENTS_IN_TEXT);
        // As many as a message has room for; to look at each of them would take hours.
        let many = "x;".repeat(crate::limits::MESSAGE_MAX_BYTES / 2);
        assert_eq!(split(&many).unwrap_err().code, code::TOO_MUCH);
    }

    #[test]
    fn what_drivers_send_is_known() {
        let set = |name: &str, value: &str| Command::Set {
            name: name.to_owned(),
            value: Some(value.to_owned()),
            is_local: false,
        };
        for (text, expected) in [
            ("", Command::Empty),
            ("-- nothing", Command::Empty),
            ("select 1", Command::Query),
            ("/* x */ WITH a AS (SELECT 1) SELECT * FROM a", Command::Query),
            ("SET extra_float_digits = 3", set("extra_float_digits", "3")),
            ("SET SESSION search_path TO a, \"b\"", set("search_path", "a, b")),
            ("set datestyle='ISO'", set("datestyle", "ISO")),
            ("SET TIME ZONE 'UTC'", set("TimeZone", "UTC")),
            ("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY", Command::Nothing("SET")),
            (
                "SET LOCAL x TO DEFAULT",
                Command::Set { name: "x".to_owned(), value: None, is_local: true },
            ),
            ("SHOW TIME ZONE", Command::Show("TimeZone".to_owned())),
            ("SHOW transaction isolation level", Command::Show("transaction_isolation".to_owned())),
            ("SHOW tables", Command::Query),
            ("BEGIN ISOLATION LEVEL READ COMMITTED", Command::Begin),
            ("START TRANSACTION READ ONLY", Command::Begin),
            ("END", Command::Commit),
            ("ROLLBACK TO SAVEPOINT a", Command::RollbackTo),
            ("ROLLBACK WORK", Command::Rollback),
            ("DISCARD ALL", Command::DiscardAll),
            ("DEALLOCATE PREPARE \"A\"", Command::Deallocate(Some("A".to_owned()))),
            ("DEALLOCATE all", Command::Deallocate(None)),
            (
                "DECLARE \"c\" NO SCROLL CURSOR WITHOUT HOLD FOR SELECT 'FOR'",
                Command::Declare {
                    cursor: "c".to_owned(),
                    query: Part { text: " SELECT 'FOR'".to_owned(), before: 45 },
                },
            ),
            ("FETCH FORWARD 10 FROM c", Command::Fetch { cursor: "c".to_owned(), rows: Some(10) }),
            ("FETCH ALL IN c", Command::Fetch { cursor: "c".to_owned(), rows: None }),
            ("FETCH c", Command::Fetch { cursor: "c".to_owned(), rows: Some(1) }),
            ("CLOSE c", Command::Close(Some("c".to_owned()))),
        ] {
            assert_eq!(Command::of(text), Ok(expected), "{text}");
        }
        for (text, code) in [
            ("COPY spans TO STDOUT", code::NOT_OFFERED),
            ("SET x", code::SYNTAX),
            ("FETCH PRIOR FROM c", code::NOT_OFFERED),
            ("DECLARE c FOR SELECT 1", code::SYNTAX),
            ("CLOSE", code::SYNTAX),
        ] {
            assert_eq!(Command::of(text).unwrap_err().code, code, "{text}");
        }
    }
}
