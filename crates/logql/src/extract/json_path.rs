//! `| json a="x.y[0]"`: chosen places of a JSON text as labels.
//!
//! A path is names and numbers: `user.id`, `tags[0]`, `["user-agent"]`. What it finds comes out as
//! text; objects and arrays as they are written. A path that finds nothing, or null, gives an
//! empty value. The whole text is read, so that a line that breaks off is noticed.

use super::json_text::{Cursor, Token, unescape};
use super::{ExtractError, is_label_name};
use crate::limits::MAX_JSON_PATH_STEPS;

/// Labels and the paths that they are read from.
#[derive(Debug, Clone)]
pub struct JsonPaths {
    paths: Vec<Path>,
}

#[derive(Debug, Clone)]
struct Path {
    name: String,
    steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Name(String),
    Index(usize),
}

/// Paths of one pass over a line, a bit for each.
type PathSet = u64;
const PATHS_PER_PASS: usize = PathSet::BITS as usize;

impl JsonPaths {
    /// Reads the paths; each pair is a label's name and its path.
    pub fn parse<N: AsRef<str>, P: AsRef<str>>(pairs: &[(N, P)]) -> Result<Self, ExtractError> {
        let read = |(name, path): &(N, P)| {
            let (name, path) = (name.as_ref(), path.as_ref());
            if !is_label_name(name) {
                return Err(ExtractError::Expression(format!("{name:?} cannot be a label's name")));
            }
            let steps = parse_steps(path).map_err(|reason| {
                ExtractError::Expression(format!("the JSON path {path:?} is not valid: {reason}"))
            })?;
            Ok(Path { name: name.to_owned(), steps })
        };
        Ok(Self { paths: pairs.iter().map(read).collect::<Result<_, _>>()? })
    }

    /// The labels that are read.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.paths.iter().map(|path| path.name.as_str())
    }

    /// Gives every label to the sink, each once. An empty line has none of them.
    pub fn extract(
        &self,
        line: &str,
        sink: &mut dyn FnMut(&str, &str),
    ) -> Result<(), ExtractError> {
        if line.is_empty() {
            return Ok(());
        }
        for paths in self.paths.chunks(PATHS_PER_PASS) {
            let all = PathSet::MAX >> (PATHS_PER_PASS - paths.len());
            let mut pass =
                Pass { paths, missing: all, cursor: Cursor::new(line), sink: &mut *sink };
            if !matches!(pass.cursor.peek(), Some(b'{' | b'[' | b'"')) {
                return pass.cursor.error("JSON");
            }
            pass.value(0, all)?;
            let missing = pass.missing;
            for (_, path) in (0..).zip(paths).filter(|(bit, _)| missing & (1 << bit) != 0) {
                sink(&path.name, "");
            }
        }
        Ok(())
    }
}

/// One pass over a line for at most as many paths as a set can tell.
struct Pass<'p, 'line, 'sink> {
    paths: &'p [Path],
    /// Those that nothing was found for yet: the first value of a path is the one that counts.
    missing: PathSet,
    cursor: Cursor<'line>,
    sink: &'sink mut dyn FnMut(&str, &str),
}

impl Pass<'_, '_, '_> {
    /// Reads a value that the first `depth` steps of the `active` paths lead to. It calls itself
    /// no deeper than paths are long.
    fn value(&mut self, depth: usize, active: PathSet) -> Result<(), ExtractError> {
        let complete = self.select(active, |path| path.steps.len() == depth);
        let deeper = active & !complete;
        self.cursor.peek();
        let start = self.cursor.at();
        match self.cursor.value()? {
            Token::Text(raw) => self.give(complete, &unescape(raw).unwrap_or_default()),
            Token::Plain(text) => self.give(complete, text),
            Token::Null => self.give(complete, ""),
            Token::ObjectStart | Token::ArrayStart if deeper == 0 => {
                self.cursor.skip_container()?;
                let written = self.cursor.since(start);
                self.give(complete, written);
            }
            Token::ObjectStart => {
                self.object(depth, deeper)?;
                let written = self.cursor.since(start);
                self.give(complete, written);
            }
            Token::ArrayStart => {
                self.array(depth, deeper)?;
                let written = self.cursor.since(start);
                self.give(complete, written);
            }
        }
        Ok(())
    }

    fn object(&mut self, depth: usize, active: PathSet) -> Result<(), ExtractError> {
        let mut first = true;
        while let Some(key) = self.cursor.key(first)? {
            first = false;
            let Some(key) = unescape(key) else {
                return self.cursor.error("a name with known escapes");
            };
            let matching = self.select(
                active,
                |path| matches!(path.steps.get(depth), Some(Step::Name(name)) if *name == key),
            );
            self.value(depth + 1, matching)?;
        }
        Ok(())
    }

    fn array(&mut self, depth: usize, active: PathSet) -> Result<(), ExtractError> {
        let mut index = 0;
        while self.cursor.element(index == 0)? {
            let matching = self.select(
                active,
                |path| matches!(path.steps.get(depth), Some(Step::Index(step)) if *step == index),
            );
            self.value(depth + 1, matching)?;
            index += 1;
        }
        Ok(())
    }

    fn select(&self, among: PathSet, is_meant: impl Fn(&Path) -> bool) -> PathSet {
        if among == 0 {
            return 0;
        }
        let bits = (0..).zip(self.paths);
        bits.filter(|(bit, path)| among & (1 << bit) != 0 && is_meant(path))
            .fold(0, |set, (bit, _)| set | 1 << bit)
    }

    fn give(&mut self, complete: PathSet, value: &str) {
        let found = complete & self.missing;
        if found == 0 {
            return;
        }
        self.missing &= !found;
        for (_, path) in (0..).zip(self.paths).filter(|(bit, _)| found & (1 << bit) != 0) {
            (self.sink)(&path.name, value);
        }
    }
}

/// The steps of a path.
fn parse_steps(path: &str) -> Result<Vec<Step>, &'static str> {
    let mut steps = Vec::new();
    let mut rest = path.trim();
    if rest.is_empty() {
        return Err("expected a name or `[`");
    }
    while !rest.is_empty() {
        if steps.len() == MAX_JSON_PATH_STEPS {
            return Err("it has too many steps");
        }
        if let Some(inside) = rest.strip_prefix('[') {
            let (step, after) = bracket(inside.trim_start())?;
            steps.push(step);
            rest = after.trim_start();
            continue;
        }
        if !steps.is_empty() {
            rest = rest.strip_prefix('.').ok_or("expected `.` or `[`")?.trim_start();
        }
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        if !is_label_name(name) {
            return Err("expected a name; others are written [\"like this\"]");
        }
        steps.push(Step::Name(name.to_owned()));
        rest = after.trim_start();
    }
    Ok(steps)
}

/// What stands in brackets, after the first of them.
fn bracket(inside: &str) -> Result<(Step, &str), &'static str> {
    let (step, after) = match inside.strip_prefix('"') {
        Some(quoted) => {
            let mut escaped = false;
            let end = quoted.find(|c| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            });
            let (name, after) = quoted.split_at(end.ok_or("a quote is not closed")?);
            let name = unescape(name).ok_or("a name has an unknown escape")?;
            (Step::Name(name.into_owned()), &after[1..])
        }
        None => {
            let end = inside.find(|c: char| !c.is_ascii_digit()).unwrap_or(inside.len());
            let (digits, after) = inside.split_at(end);
            let index =
                digits.parse().map_err(|_| "expected a number or a name in quotes in `[`")?;
            (Step::Index(index), after)
        }
    };
    let after = after.trim_start().strip_prefix(']').ok_or("expected `]`")?;
    Ok((step, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str, pairs: &[(&str, &str)]) -> Result<String, String> {
        let paths = JsonPaths::parse(pairs).map_err(|error| error.to_string())?;
        let mut found = Vec::new();
        paths
            .extract(line, &mut |name, value| found.push(format!("{name}={value}")))
            .map_err(|error| error.to_string())?;
        found.sort();
        Ok(found.join(" "))
    }

    const LINE: &str = r#"{"user":{"id":"u2","tags":["a",{"b":[1, 2]}]},"user-agent":"curl/8.1","cache.hit":false,"ratio":0.25,"none":null,"n":1,"n":2}"#;

    #[test]
    fn paths_find_values_wherever_they_are() {
        assert_eq!(read(LINE, &[("a", "user.id")]), Ok("a=u2".into()));
        assert_eq!(read(LINE, &[("a", "[\"user\"][\"id\"]")]), Ok("a=u2".into()));
        assert_eq!(read(LINE, &[("a", "user.tags[0]")]), Ok("a=a".into()));
        assert_eq!(read(LINE, &[("a", "user.tags[1].b[1]")]), Ok("a=2".into()));
        assert_eq!(
            read(
                LINE,
                &[("agent", "[\"user-agent\"]"), ("hit", "[\"cache.hit\"]"), ("ratio", "ratio")]
            ),
            Ok("agent=curl/8.1 hit=false ratio=0.25".into())
        );
        assert_eq!(read("[5,[6]]", &[("a", "[1][0]")]), Ok("a=6".into()));
    }

    #[test]
    fn objects_and_arrays_come_out_as_written() {
        assert_eq!(read(LINE, &[("a", "user.tags")]), Ok(r#"a=["a",{"b":[1, 2]}]"#.into()));
        assert_eq!(
            read(r#"{"o": {"x": 1} }"#, &[("a", "o"), ("b", "o.x")]),
            Ok(r#"a={"x": 1} b=1"#.into())
        );
    }

    #[test]
    fn what_is_missing_or_null_is_empty_and_the_first_counts() {
        assert_eq!(
            read(
                LINE,
                &[
                    ("a", "no.such"),
                    ("b", "none"),
                    ("c", "user.tags[9]"),
                    ("d", "n"),
                    ("e", "ratio.x")
                ]
            ),
            Ok("a= b= c= d=1 e=".into())
        );
        assert_eq!(read("", &[("a", "b")]), Ok(String::new()));
        assert_eq!(read("{}", &[("a", "b")]), Ok("a=".into()));
    }

    #[test]
    fn a_line_that_breaks_off_is_an_error() {
        for broken in [r#"{"a":1,"b""#, "plain", r#"{"a":1"#, "{\"a\":[1,", "5"] {
            assert!(read(broken, &[("a", "a")]).is_err(), "{broken}");
        }
    }

    #[test]
    fn more_paths_than_one_pass_holds_are_all_read() {
        let names: Vec<String> = (0..150).map(|n| format!("f{n}")).collect();
        let line: Vec<String> =
            names.iter().map(|name| format!("\"{name}\":\"v{name}\"")).collect();
        let pairs: Vec<(&str, &str)> = names.iter().map(|n| (n.as_str(), n.as_str())).collect();
        let found = read(&format!("{{{}}}", line.join(",")), &pairs).unwrap();
        assert_eq!(found.split(' ').count(), 150);
        assert!(found.contains("f149=vf149") && !found.contains("= "));
    }

    #[test]
    fn wrong_paths_are_refused() {
        for wrong in [
            "",
            "b[",
            "[",
            "a..b",
            "a b",
            "\"a\"]",
            "[\"a\"",
            "[\"a\"\"b\"]",
            "[\"a",
            "a.",
            ".a",
            "a[x]",
            "a[1.5]",
            "a[-1]",
            "1a",
            "a-b",
            "a]",
            "[99999999999999999999999]",
        ] {
            assert!(JsonPaths::parse(&[("x", wrong)]).is_err(), "{wrong}");
        }
        let long = format!("a{}", ".a".repeat(100));
        assert!(JsonPaths::parse(&[("x", long.as_str())]).is_err());
        assert!(JsonPaths::parse(&[("x-y", "a")]).is_err());
        assert_eq!(
            JsonPaths::parse(&[("a", "b[")]).unwrap_err().to_string(),
            "the JSON path \"b[\" is not valid: expected a number or a name in quotes in `[`"
        );
    }
}
