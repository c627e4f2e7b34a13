//! What a text must have to pass a test, so that pages without it are passed over
//! by their [text filters](crate::block::text_filter).
//!
//! Of a regular expression that is what every match has: literals that follow one
//! another, and of alternatives one. Where nothing is known, nothing is needed:
//! a need may be too small, never too great.

use memchr::memmem::Finder;
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind, Look};

use crate::block::text_filter::{Known, TextFilters, folded, hashes_of};
use crate::limits::REGEX_LITERAL_MAX_STEPS;

/// Literals that are shorter are in too many texts to be looked for first.
const LITERAL_MIN_BYTES: usize = 3;
/// The longest matches that are looked for in many texts at once: one that begins in
/// a text and ends in another was for nothing.
const LOCAL_MATCH_MAX_BYTES: usize = 128;
/// Repetitions that are spelled out.
const REPEATS_SPELLED: u32 = 8;

/// Hashes that a text must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Need {
    /// All of these.
    Hashes(Vec<u64>),
    /// All of these.
    All(Vec<Need>),
    /// At least one of these.
    Any(Vec<Need>),
}

impl Need {
    /// Every text may pass.
    pub(super) const NOTHING: Need = Need::All(Vec::new());

    /// Texts that contain this.
    pub(super) fn of_part(text: &[u8]) -> Self {
        Self::Hashes(hashes_of(text.iter().map(|byte| Known::Byte(*byte))))
    }

    /// The text that is this.
    pub(super) fn of_whole(text: &[u8]) -> Self {
        let bytes = text.iter().map(|byte| Known::Byte(*byte));
        let ends = [Known::Boundary];
        Self::Hashes(hashes_of(ends.into_iter().chain(bytes).chain(ends)))
    }

    /// One of these; nothing, if one of them needs nothing.
    pub(super) fn any(needs: Vec<Need>) -> Self {
        match needs.iter().all(Need::tells) {
            true => Self::Any(needs),
            false => Self::NOTHING,
        }
    }

    fn all(needs: Vec<Need>) -> Self {
        Self::All(needs.into_iter().filter(Need::tells).collect())
    }

    /// Whether there are texts that do not fulfil it.
    pub(super) fn tells(&self) -> bool {
        match self {
            Self::Hashes(hashes) => !hashes.is_empty(),
            Self::All(needs) => needs.iter().any(Need::tells),
            Self::Any(needs) => needs.iter().all(Need::tells),
        }
    }

    /// Whether a granule may have a text that fulfils it.
    pub(super) fn may_be_in(&self, filters: &TextFilters, granule: usize) -> bool {
        match self {
            Self::Hashes(hashes) => hashes.iter().all(|hash| filters.may_hold(granule, *hash)),
            Self::All(needs) => needs.iter().all(|need| need.may_be_in(filters, granule)),
            Self::Any(needs) => needs.iter().any(|need| need.may_be_in(filters, granule)),
        }
    }
}

/// What every match of a regular expression has.
#[derive(Debug, Clone)]
pub(super) struct Required {
    pub(super) need: Need,
    /// The longest text that is in every match.
    pub(super) literal: Option<Finder<'static>>,
    /// Whether a match is one whatever is around it, and not long.
    pub(super) is_local: bool,
}

impl Required {
    /// Of an expression that compiles.
    pub(super) fn of_regex(pattern: &str) -> Self {
        let parsed = ParserBuilder::new().utf8(false).build().parse(pattern);
        let Ok(hir) = parsed else {
            return Self { need: Need::NOTHING, literal: None, is_local: false };
        };
        let mut steps_left = REGEX_LITERAL_MAX_STEPS;
        let mut found = Found::default();
        found.walk(&hir, &mut steps_left);
        let (need, literal) = found.finish();
        let literal =
            (literal.len() >= LITERAL_MIN_BYTES).then(|| Finder::new(&literal).into_owned());
        Self { need, literal, is_local: is_local(&hir) }
    }
}

fn is_local(hir: &Hir) -> bool {
    let properties = hir.properties();
    properties.look_set().is_empty()
        && properties.minimum_len().is_some_and(|len| len > 0)
        && properties.maximum_len().is_some_and(|len| len <= LOCAL_MATCH_MAX_BYTES)
}

/// What was found so far of expressions that follow one another.
#[derive(Default)]
struct Found {
    form: Vec<Known>,
    /// The bytes at the end of `form`, as far as they are known exactly.
    exact: Vec<u8>,
    literal: Vec<u8>,
    needs: Vec<Need>,
}

impl Found {
    fn walk(&mut self, hir: &Hir, steps_left: &mut usize) {
        let Some(left) = steps_left.checked_sub(1) else { return self.gap() };
        *steps_left = left;
        match hir.kind() {
            HirKind::Empty => {}
            HirKind::Literal(literal) => {
                self.form.extend(literal.0.iter().map(|byte| Known::Byte(*byte)));
                self.exact.extend_from_slice(&literal.0);
            }
            HirKind::Class(class) => match one_of(class) {
                Known::Gap => self.gap(),
                known => {
                    self.form.push(known);
                    self.end_exact();
                }
            },
            // These are between a token and what is none, or at an end.
            HirKind::Look(
                Look::Start
                | Look::End
                | Look::StartLF
                | Look::EndLF
                | Look::StartCRLF
                | Look::EndCRLF,
            ) => self.form.push(Known::Boundary),
            // A boundary of words is another than of tokens, but takes no room either.
            HirKind::Look(_) => {}
            HirKind::Capture(capture) => self.walk(&capture.sub, steps_left),
            HirKind::Concat(parts) => parts.iter().for_each(|part| self.walk(part, steps_left)),
            HirKind::Repetition(repetition) => {
                let spelled = repetition.min.min(REPEATS_SPELLED);
                (0..spelled).for_each(|_| self.walk(&repetition.sub, steps_left));
                if repetition.max != Some(spelled) {
                    self.gap();
                }
            }
            HirKind::Alternation(branches) => {
                self.gap();
                let branches = branches.iter().map(|branch| {
                    let mut found = Found::default();
                    found.walk(branch, steps_left);
                    found.finish().0
                });
                self.needs.push(Need::any(branches.collect()));
            }
        }
    }

    fn gap(&mut self) {
        self.form.push(Known::Gap);
        self.end_exact();
    }

    fn end_exact(&mut self) {
        if self.exact.len() > self.literal.len() {
            std::mem::swap(&mut self.exact, &mut self.literal);
        }
        self.exact.clear();
    }

    fn finish(mut self) -> (Need, Vec<u8>) {
        self.end_exact();
        self.needs.push(Need::Hashes(hashes_of(self.form)));
        (Need::all(self.needs), self.literal)
    }
}

/// What is known of a text where one of a class of characters is.
fn one_of(class: &Class) -> Known {
    const FEW: usize = 16;
    let mut members = Vec::new();
    let mut add = |start: u32, end: u32| {
        let members_left = FEW.saturating_sub(members.len());
        members.extend((start..=end).take(members_left + 1));
    };
    match class {
        Class::Unicode(class) => {
            class.iter().for_each(|range| add(range.start().into(), range.end().into()));
        }
        Class::Bytes(class) => {
            class.iter().for_each(|range| add(range.start().into(), range.end().into()));
        }
    }
    let ascii = members.iter().map(|c| u8::try_from(*c).ok().filter(u8::is_ascii));
    let Some(bytes) = ascii.collect::<Option<Vec<u8>>>() else { return Known::Gap };
    let mut shapes: Vec<Option<u8>> = bytes.into_iter().map(folded).collect();
    shapes.dedup();
    match shapes[..] {
        _ if members.len() > FEW => Known::Gap,
        [None] => Known::Boundary,
        [Some(letter)] => Known::Byte(letter),
        _ => Known::Gap,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn need(pattern: &str) -> Need {
        Required::of_regex(pattern).need
    }

    fn part(text: &str) -> Need {
        Need::all(vec![Need::of_part(text.as_bytes())])
    }

    #[test]
    fn what_follows_one_another_is_needed_as_a_whole() {
        assert_eq!(need("request failed"), part("request failed"));
        assert_eq!(need("(request) (?:failed)"), part("request failed"));
        assert_eq!(need("(?i)repeated"), part("REPEATED"));
        assert_eq!(need(r"x{6}\b-"), part("xxxxxx-"));
        assert_eq!(need("^up [=:]tiny$"), Need::all(vec![Need::of_whole(b"up tiny")]));
        assert_eq!(need("abcdef.*ghijkl"), need("abcdef+?ghijkl"));
    }

    #[test]
    fn where_anything_may_be_nothing_is_needed() {
        for pattern in
            ["", ".*", "error", "a|", "(longer token)?", "longer_|x", "(?i)mistaks", "[abc]", "a*"]
        {
            assert!(!need(pattern).tells(), "{pattern}");
        }
        assert_eq!(need("first1.second"), need("first1[^x]second"));
        assert_eq!(need("(?i)mistakes"), Need::NOTHING, "also the Kelvin sign and the long s");
    }

    #[test]
    fn an_expression_that_repeats_without_end_is_looked_through_in_time() {
        let deep = format!("{}a{}", "(".repeat(40), "{9}){9}".repeat(40));
        assert!(need(&deep).tells());
    }

    #[test]
    fn of_alternatives_one_is_needed() {
        let any = Need::any(vec![part("timeout"), part("refused")]);
        assert_eq!(need("timeout|refused"), Need::all(vec![any.clone()]));
        let both = vec![any, Need::of_part(b"connection ")];
        assert_eq!(need("connection (timeout|refused)"), Need::all(both));
    }

    #[test]
    fn short_matches_without_regard_to_what_is_around_are_local() {
        let is_local = |pattern: &str| Required::of_regex(pattern).is_local;
        assert!(is_local("a[0-9]{2,9}|(?i)grün"));
        for pattern in ["a+", ".*", "a?", "", "^a", "a$", r"\ba", "a{129}", "[^a]{40}"] {
            assert!(!is_local(pattern), "{pattern}");
        }
    }

    #[test]
    fn the_longest_text_of_all_matches_is_known() {
        let literal = |pattern: &str| {
            let required = Required::of_regex(pattern);
            required.literal.map(|finder| String::from_utf8(finder.needle().to_vec()).unwrap())
        };
        assert_eq!(literal("id=[0-9]+ duration="), Some(" duration=".to_owned()));
        assert_eq!(literal("(?i)longer"), None);
        assert_eq!(literal("ab|abc"), None);
        assert_eq!(literal("^(grün)$"), Some("grün".to_owned()));
        assert_eq!(literal("a.b.c"), None);
    }
}
