//! Secrets in command lines, taken out before a span has them.
//!
//! What is known as a secret:
//!
//! | what | example |
//! |---|---|
//! | tokens with a known beginning: GitHub, GitLab, AWS, Slack, Google, npm, PyPI, Docker, Hugging Face, OpenAI, Stripe | `ghp_…`, `github_pat_…`, `glpat-…`, `AKIA…`, `xoxb-…`, `AIza…`, `npm_…`, `pypi-…`, `dckr_pat_…`, `hf_…`, `sk-…` |
//! | JSON web tokens, private keys | `eyJ….….…`, `-----BEGIN … PRIVATE KEY-----` |
//! | passwords in addresses | `https://user:***@host/` |
//! | what follows `Bearer`, `Basic`, `Token` | `Authorization: Bearer ***` |
//! | values of names that sound like it: password, passwd, secret, token, api key, access key, credential, private key, auth | `--password=***`, `--token ***`, `AWS_SECRET_ACCESS_KEY=***` |
//! | values of variables of the process with such names, of 8 characters or more | wherever they stand |
//!
//! It errs on the side of taking out too much.

use regex::{Captures, Regex};

use crate::environment::Environment;

/// What stands in place of a secret.
pub const MASK: &str = "***";

/// Tokens that are known by how they look.
const TOKENS: &str = r"(?x)
    \b(?:gh[pousr]_[A-Za-z0-9]{16,}
    | github_pat_[A-Za-z0-9_]{20,}
    | glpat-[A-Za-z0-9_-]{16,}
    | (?:AKIA|ASIA)[A-Z0-9]{16}
    | xox[abeoprs]-[A-Za-z0-9-]{10,}
    | AIza[A-Za-z0-9_-]{30,}
    | npm_[A-Za-z0-9]{30,}
    | pypi-[A-Za-z0-9_-]{16,}
    | dckr_pat_[A-Za-z0-9_-]{20,}
    | hf_[A-Za-z0-9]{20,}
    | sk-[A-Za-z0-9_-]{20,}
    | (?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}
    | eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*)
    | -----BEGIN[\ A-Z]*PRIVATE\ KEY-----(?:.|\n)*";
/// Addresses with a password, which may have any characters but spaces.
const ADDRESSES: &str = r"([A-Za-z][A-Za-z0-9+.-]*://[^\s/:@]*):\S+@";
/// What follows a scheme of HTTP authentication.
const SCHEMES: &str = r"(?i)\b(bearer|basic|token)(\s+)[A-Za-z0-9._~+/=-]{6,}";
/// Words in names of secrets. An author is none.
const WORDS: &str = "(?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key\
                     |private[_-]?key|credential|authorization|authentication|auth[_-]|auth\\b)";
/// Shorter values stand in too many places by chance.
const LEAST_SECRET_CHARS: usize = 8;

/// What takes secrets out.
#[derive(Debug)]
pub struct Redactor {
    patterns: Vec<(Regex, Replacement)>,
    flags: Option<Regex>,
    values: Vec<String>,
}

#[derive(Debug, Clone, Copy)]
enum Replacement {
    All,
    /// What the first group, and the second if it is white space, have stays.
    AfterGroup,
}

impl Redactor {
    /// With the list above, secrets of this environment, and more patterns. A pattern that cannot be
    /// read is an error that says why.
    pub fn new(environment: &Environment, more: &[String]) -> Result<Self, String> {
        // A name, `=` or `:`, and the rest of the word, or what is in quotes.
        let named = format!(
            r#"(?i)([A-Za-z0-9_.-]*{WORDS}[A-Za-z0-9_.-]*\s*[=:]\s*)("[^"]*"|'[^']*'|[^\s"']+)"#
        );
        // A flag and the next word, inside of one argument.
        let flagged = format!(r#"(?i)(--?[A-Za-z0-9_-]*{WORDS}[A-Za-z0-9_-]*\s+)([^\s"'-]\S*)"#);
        let own = [
            (TOKENS, Replacement::All),
            (ADDRESSES, Replacement::AfterGroup),
            (SCHEMES, Replacement::AfterGroup),
            (named.as_str(), Replacement::AfterGroup),
            (flagged.as_str(), Replacement::AfterGroup),
        ];
        let more = more.iter().map(|pattern| (pattern.as_str(), Replacement::All));
        let compile = |(pattern, replacement): (&str, Replacement)| match Regex::new(pattern) {
            Ok(regex) => Ok((regex, replacement)),
            Err(error) => Err(format!("--redact {pattern:?} is not a regular expression: {error}")),
        };
        let patterns: Result<Vec<_>, String> = own.into_iter().chain(more).map(compile).collect();
        let is_secret = Regex::new(&format!("(?i){WORDS}")).map_err(|error| error.to_string())?;
        let flags = Regex::new(&format!("(?i)^--?[A-Za-z0-9_-]*{WORDS}[A-Za-z0-9_-]*$"));
        let mut values: Vec<String> = environment
            .iter()
            .filter(|(name, value)| {
                is_secret.is_match(name) && value.chars().count() >= LEAST_SECRET_CHARS
            })
            .map(|(_, value)| value.to_owned())
            .collect();
        // The longest first: one may be a part of another.
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        Ok(Self { patterns: patterns?, flags: flags.ok(), values })
    }

    /// One that takes nothing out.
    #[must_use]
    pub fn none() -> Self {
        Self { patterns: Vec::new(), flags: None, values: Vec::new() }
    }

    /// A text without secrets.
    #[must_use]
    pub fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for value in &self.values {
            text = text.replace(value.as_str(), MASK);
        }
        for (pattern, replacement) in &self.patterns {
            text = match replacement {
                Replacement::All => pattern.replace_all(&text, MASK).into_owned(),
                Replacement::AfterGroup => {
                    pattern.replace_all(&text, |found: &Captures<'_>| masked(found)).into_owned()
                }
            };
        }
        text
    }

    /// A command line without secrets.
    #[must_use]
    pub fn arguments(&self, arguments: &[String]) -> Vec<String> {
        let mut is_value = false;
        let redact = |argument: &String| {
            let is_secret = std::mem::replace(&mut is_value, false);
            is_value = self.flags.as_ref().is_some_and(|flags| flags.is_match(argument));
            if is_secret && !argument.starts_with("--") {
                is_value = false;
                return MASK.to_owned();
            }
            self.text(argument)
        };
        arguments.iter().map(redact).collect()
    }
}

fn masked(found: &Captures<'_>) -> String {
    let kept = found.get(1).map_or("", |group| group.as_str());
    let space = found.get(2).map_or("", |group| group.as_str());
    let whole = &found[0];
    if whole.ends_with('@') {
        return format!("{kept}:{MASK}@");
    }
    let space = if space.trim().is_empty() { space } else { "" };
    format!("{kept}{space}{MASK}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redacted(arguments: &[&str]) -> String {
        let environment =
            [("MY_TOKEN", "hunter2hunter2"), ("HOME", "/home/somebody")].into_iter().collect();
        let redactor = Redactor::new(&environment, &["internal-[0-9]+".to_owned()]).unwrap();
        let arguments: Vec<String> =
            arguments.iter().map(|argument| (*argument).to_owned()).collect();
        redactor.arguments(&arguments).join(" ")
    }

    #[test]
    fn secrets_of_the_usual_shapes_are_taken_out() {
        let long = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
        for (arguments, expected) in [
            (
                vec!["git", "clone", "https://x:s3cr3t@host/a.git"],
                "git clone https://x:***@host/a.git".to_owned(),
            ),
            (
                vec!["curl", "-H", "Authorization: Bearer abcdef123456"],
                "curl -H Authorization: *** ***".to_owned(),
            ),
            (vec!["login", "--password", "short", "user"], "login --password *** user".to_owned()),
            (vec!["login", "--password=short"], "login --password=***".to_owned()),
            (vec!["login", "--token", "--force"], "login --token --force".to_owned()),
            (
                vec!["env", "AWS_SECRET_ACCESS_KEY=x", "b"],
                "env AWS_SECRET_ACCESS_KEY=*** b".to_owned(),
            ),
            (
                vec!["x", "--auth", "pw", "--secret-key=a,b;c", "--author", "Ada"],
                "x --auth *** --secret-key=*** --author Ada".to_owned(),
            ),
            (
                vec!["bash", "-c", "mysql --password hunter2 -u x"],
                "bash -c mysql --password *** -u x".to_owned(),
            ),
            (vec!["psql", "postgres://u:p/w@x@h/db"], "psql postgres://u:***@h/db".to_owned()),
            (vec!["echo", "hunter2hunter2"], "echo ***".to_owned()),
            (vec!["get", "internal-12"], "get ***".to_owned()),
            (
                vec!["cmake", "--build", "/home/somebody/x", "-j", "8"],
                "cmake --build /home/somebody/x -j 8".to_owned(),
            ),
        ] {
            assert_eq!(redacted(&arguments), expected);
        }
        for beginning in [
            "ghp_",
            "ghs_",
            "github_pat_",
            "glpat-",
            "xoxb-",
            "AIza",
            "npm_",
            "pypi-",
            "hf_",
            "sk-",
        ] {
            let token = format!("{beginning}{long}");
            assert_eq!(redacted(&["x", &token]), "x ***", "{beginning}");
        }
        assert_eq!(
            redacted(&["auth=x", "author=y", "NPM_AUTH:z"]),
            "auth=*** author=y NPM_AUTH:***"
        );
        assert_eq!(redacted(&["AKIAABCDEFGHIJKLMNOP"]), "***");
        assert_eq!(redacted(&["eyJhbGciOi1.eyJzdWIiOi1.sig_nature"]), "***");
        assert_eq!(redacted(&["-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END"]), "***");
    }

    #[test]
    fn a_wrong_pattern_is_told_and_none_takes_nothing_out() {
        let error = Redactor::new(&Environment::default(), &["(".to_owned()]).unwrap_err();
        assert!(error.starts_with("--redact \"(\""), "{error}");
        assert_eq!(Redactor::none().text("password=x"), "password=x");
    }
}
