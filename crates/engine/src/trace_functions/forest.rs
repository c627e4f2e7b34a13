//! Who is whose child, whatever the spans claim: a forest, always.
//!
//! A span whose parent is not there stands at the top. So does one span of each circle of parents:
//! the one that began first. Of several spans with the same id the first has the children.
//! Nothing here recurses: a chain of a million spans takes no stack.

use hashbrown::HashMap;

use super::spans::Span;

/// What is odd about a span's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Note {
    #[default]
    Nothing,
    /// Its parent is not there.
    Orphan,
    /// Its parents lead back to itself; the circle is cut here.
    Cycle,
    /// Another span has the same id.
    Duplicate,
}

impl Note {
    pub(super) fn text(self) -> Option<&'static str> {
        match self {
            Self::Nothing => None,
            Self::Orphan => Some("orphan"),
            Self::Cycle => Some("cycle"),
            Self::Duplicate => Some("duplicate"),
        }
    }
}

/// Spans by their place, in the order that [`sorted`](super::spans::sorted) gives them.
#[derive(Debug)]
pub(super) struct Forest {
    pub(super) notes: Vec<Note>,
    /// Those without a parent.
    pub(super) tops: Vec<u32>,
    /// Children of all, one behind the other, and where those of each begin.
    children: Vec<u32>,
    begins: Vec<u32>,
}

impl Forest {
    pub(super) fn new(spans: &[Span]) -> Self {
        let mut by_id: HashMap<[u8; 8], u32> = HashMap::with_capacity(spans.len());
        let mut notes = vec![Note::Nothing; spans.len()];
        for (nth, span) in spans.iter().enumerate() {
            let first = *by_id.entry(span.span_id).or_insert(nth as u32);
            if first != nth as u32 {
                notes[nth] = Note::Duplicate;
            }
        }
        let mut parents = Vec::with_capacity(spans.len());
        for (nth, span) in spans.iter().enumerate() {
            let parent = span.parent_span_id.map(|id| by_id.get(&id).copied());
            if parent == Some(None) && notes[nth] == Note::Nothing {
                notes[nth] = Note::Orphan;
            }
            parents.push(parent.flatten());
        }
        for nth in circles(&parents) {
            parents[nth as usize] = None;
            notes[nth as usize] = Note::Cycle;
        }
        let tops = (0..spans.len() as u32).filter(|nth| parents[*nth as usize].is_none()).collect();
        let (children, begins) = children_of(&parents);
        Self { notes, tops, children, begins }
    }

    /// The children of a span, by start.
    pub(super) fn children(&self, span: u32) -> &[u32] {
        let (begin, end) = (self.begins[span as usize], self.begins[span as usize + 1]);
        &self.children[begin as usize..end as usize]
    }

    /// The one span that was sent without a parent; `None` if there is none or several.
    pub(super) fn only_root(&self, spans: &[Span]) -> Option<u32> {
        let mut roots =
            self.tops.iter().filter(|top| spans[**top as usize].parent_span_id.is_none());
        roots.next().copied().filter(|_| roots.next().is_none())
    }
}

/// Of each circle of parents, the first span.
fn circles(parents: &[Option<u32>]) -> Vec<u32> {
    let mut cuts = Vec::new();
    // The round in which a span was come by, from 1.
    let mut rounds = vec![0u32; parents.len()];
    for first in 0..parents.len() {
        let round = first as u32 + 1;
        let mut at = first as u32;
        while rounds[at as usize] == 0 {
            rounds[at as usize] = round;
            match parents[at as usize] {
                Some(parent) => at = parent,
                None => break,
            }
        }
        let is_new = rounds[at as usize] == round && parents[at as usize].is_some();
        if !is_new {
            continue;
        }
        let mut least = at;
        let mut next = parents[at as usize];
        while let Some(member) = next.filter(|member| *member != at) {
            least = least.min(member);
            next = parents[member as usize];
        }
        cuts.push(least);
    }
    cuts
}

/// Children one behind the other, and where those of each begin.
fn children_of(parents: &[Option<u32>]) -> (Vec<u32>, Vec<u32>) {
    let mut begins = vec![0u32; parents.len() + 1];
    for parent in parents.iter().flatten() {
        begins[*parent as usize + 1] += 1;
    }
    for place in 1..begins.len() {
        begins[place] += begins[place - 1];
    }
    let mut next = begins.clone();
    let mut children = vec![0; begins.last().copied().unwrap_or(0) as usize];
    for (nth, parent) in parents.iter().enumerate() {
        if let Some(parent) = parent {
            let place = &mut next[*parent as usize];
            children[*place as usize] = nth as u32;
            *place += 1;
        }
    }
    (children, begins)
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::spans::sorted;
    use super::*;

    /// A span of a test: id, parent, from, to.
    pub(in super::super) fn span(id: u64, parent: u64, from: i64, to: i64) -> Span {
        Span {
            span_id: id.to_be_bytes(),
            parent_span_id: (parent != 0).then(|| parent.to_be_bytes()),
            name: format!("s{id}").into(),
            start: from,
            duration: to - from,
            ..Span::default()
        }
    }

    fn shown(spans: &[Span]) -> Vec<(String, Option<String>, Note)> {
        let forest = Forest::new(spans);
        let name = |nth: u32| spans[nth as usize].name.to_string();
        (0..spans.len() as u32)
            .map(|nth| {
                let mut all = 0..spans.len() as u32;
                let parent = all.find(|span| forest.children(*span).contains(&nth)).map(name);
                (name(nth), parent, forest.notes[nth as usize])
            })
            .collect()
    }

    #[test]
    fn orphans_stand_at_the_top_and_circles_are_cut_at_their_first_span() {
        let spans = sorted([
            span(1, 0, 0, 100),
            span(2, 1, 10, 20),
            span(3, 99, 5, 50),
            // A circle of three with a child, and a span that is its own parent.
            span(4, 6, 32, 40),
            span(5, 4, 31, 40),
            span(6, 5, 30, 40),
            span(7, 5, 33, 34),
            span(8, 8, 60, 61),
        ]);
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(
            shown(&spans),
            [
                ("s1".to_owned(), None, Note::Nothing),
                ("s3".to_owned(), None, Note::Orphan),
                ("s2".to_owned(), text("s1"), Note::Nothing),
                ("s6".to_owned(), None, Note::Cycle),
                ("s5".to_owned(), text("s4"), Note::Nothing),
                ("s4".to_owned(), text("s6"), Note::Nothing),
                ("s7".to_owned(), text("s5"), Note::Nothing),
                ("s8".to_owned(), None, Note::Cycle),
            ]
        );
    }

    #[test]
    fn of_spans_with_one_id_the_first_has_the_children() {
        let spans = sorted([span(1, 0, 0, 9), span(1, 0, 1, 9), span(2, 1, 2, 3)]);
        let forest = Forest::new(&spans);
        assert_eq!(forest.notes, [Note::Nothing, Note::Duplicate, Note::Nothing]);
        assert_eq!(forest.children(0), [2]);
        assert_eq!(forest.only_root(&spans), None);
    }

    #[test]
    fn a_long_chain_and_a_large_circle_take_no_stack() {
        let chain: Vec<Span> =
            (1..=200_000).map(|id| span(id, id - 1, id as i64, 300_000)).collect();
        assert_eq!(Forest::new(&chain).tops, [0]);
        let mut circle = chain;
        circle[0].parent_span_id = Some(200_000u64.to_be_bytes());
        let forest = Forest::new(&circle);
        assert_eq!((forest.tops.as_slice(), forest.notes[0]), (&[0][..], Note::Cycle));
    }
}
