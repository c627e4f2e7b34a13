//! Who is whose child, whatever the spans claim: a forest, always.
//!
//! A span whose parent is not there stands at the top. So does one span of each circle of parents:
//! the one that began first. Of several spans with the same id the first has the children.
//! Nothing here recurses: a chain of a million spans takes no stack.

use hashbrown::HashMap;

/// What is known of where a span belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Its id.
    pub span_id: [u8; 8],
    /// That of its parent; `None` for a root.
    pub parent_span_id: Option<[u8; 8]>,
    /// When it began.
    pub start_nanos: i64,
    /// When it ended; not before it began.
    pub end_nanos: i64,
}

/// What is odd about a span's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Note {
    /// Nothing.
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
    /// A word for it.
    pub fn text(self) -> Option<&'static str> {
        match self {
            Self::Nothing => None,
            Self::Orphan => Some("orphan"),
            Self::Cycle => Some("cycle"),
            Self::Duplicate => Some("duplicate"),
        }
    }
}

/// Spans by their place. Spans are numbered in the order they were given in, which is by start, the
/// longer first: a parent comes before the children that began with it.
#[derive(Debug)]
pub struct Forest {
    /// What is odd about each span.
    pub notes: Vec<Note>,
    /// Those without a parent.
    pub tops: Vec<u32>,
    parents: Vec<Option<u32>>,
    /// Children of all, one behind the other, and where those of each begin.
    children: Vec<u32>,
    begins: Vec<u32>,
}

impl Forest {
    /// The forest of spans that are sorted by start.
    pub fn new(places: &[Place]) -> Self {
        let mut by_id: HashMap<[u8; 8], u32> = HashMap::with_capacity(places.len());
        let mut notes = vec![Note::Nothing; places.len()];
        for (nth, place) in places.iter().enumerate() {
            let first = *by_id.entry(place.span_id).or_insert(nth as u32);
            if first != nth as u32 {
                notes[nth] = Note::Duplicate;
            }
        }
        let mut parents = Vec::with_capacity(places.len());
        for (nth, place) in places.iter().enumerate() {
            let parent = place.parent_span_id.map(|id| by_id.get(&id).copied());
            if parent == Some(None) && notes[nth] == Note::Nothing {
                notes[nth] = Note::Orphan;
            }
            parents.push(parent.flatten());
        }
        for nth in circles(&parents) {
            parents[nth as usize] = None;
            notes[nth as usize] = Note::Cycle;
        }
        let tops =
            (0..places.len() as u32).filter(|nth| parents[*nth as usize].is_none()).collect();
        let (children, begins) = children_of(&parents);
        Self { notes, tops, parents, children, begins }
    }

    /// The parent of a span.
    pub fn parent(&self, span: u32) -> Option<u32> {
        self.parents[span as usize]
    }

    /// The children of a span, by start.
    pub fn children(&self, span: u32) -> &[u32] {
        let (begin, end) = (self.begins[span as usize], self.begins[span as usize + 1]);
        &self.children[begin as usize..end as usize]
    }

    /// The one span that was sent without a parent; `None` if there is none or several.
    pub fn only_root(&self, places: &[Place]) -> Option<u32> {
        let mut roots =
            self.tops.iter().filter(|top| places[**top as usize].parent_span_id.is_none());
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
pub(crate) mod tests {
    use super::*;

    /// A place of a test: id, parent, from, to.
    pub(crate) fn place(id: u64, parent: u64, from: i64, to: i64) -> Place {
        Place {
            span_id: id.to_be_bytes(),
            parent_span_id: (parent != 0).then(|| parent.to_be_bytes()),
            start_nanos: from,
            end_nanos: to.max(from),
        }
    }

    /// By start, the longer first.
    pub(crate) fn sorted(places: impl IntoIterator<Item = Place>) -> Vec<Place> {
        let mut places: Vec<Place> = places.into_iter().collect();
        places.sort_by_key(|place| (place.start_nanos, -place.end_nanos, place.span_id));
        places
    }

    pub(crate) fn id_of(place: &Place) -> u64 {
        u64::from_be_bytes(place.span_id)
    }

    fn shown(places: &[Place]) -> Vec<(u64, Option<u64>, Note)> {
        let forest = Forest::new(places);
        let id = |nth: u32| id_of(&places[nth as usize]);
        (0..places.len() as u32)
            .map(|nth| {
                let mut all = 0..places.len() as u32;
                let parent = all.find(|span| forest.children(*span).contains(&nth));
                assert_eq!(forest.parent(nth), parent);
                (id(nth), parent.map(id), forest.notes[nth as usize])
            })
            .collect()
    }

    #[test]
    fn orphans_stand_at_the_top_and_circles_are_cut_at_their_first_span() {
        let places = sorted([
            place(1, 0, 0, 100),
            place(2, 1, 10, 20),
            place(3, 99, 5, 50),
            // A circle of three with a child, and a span that is its own parent.
            place(4, 6, 32, 40),
            place(5, 4, 31, 40),
            place(6, 5, 30, 40),
            place(7, 5, 33, 34),
            place(8, 8, 60, 61),
        ]);
        assert_eq!(
            shown(&places),
            [
                (1, None, Note::Nothing),
                (3, None, Note::Orphan),
                (2, Some(1), Note::Nothing),
                (6, None, Note::Cycle),
                (5, Some(4), Note::Nothing),
                (4, Some(6), Note::Nothing),
                (7, Some(5), Note::Nothing),
                (8, None, Note::Cycle),
            ]
        );
    }

    #[test]
    fn of_spans_with_one_id_the_first_has_the_children() {
        let places = sorted([place(1, 0, 0, 9), place(1, 0, 1, 9), place(2, 1, 2, 3)]);
        let forest = Forest::new(&places);
        assert_eq!(forest.notes, [Note::Nothing, Note::Duplicate, Note::Nothing]);
        assert_eq!(forest.children(0), [2]);
        assert_eq!(forest.only_root(&places), None);
    }

    #[test]
    fn a_long_chain_and_a_large_circle_take_no_stack() {
        let chain: Vec<Place> =
            (1..=200_000).map(|id| place(id, id - 1, id as i64, 300_000)).collect();
        assert_eq!(Forest::new(&chain).tops, [0]);
        let mut circle = chain;
        circle[0].parent_span_id = Some(200_000u64.to_be_bytes());
        let forest = Forest::new(&circle);
        assert_eq!((forest.tops.as_slice(), forest.notes[0]), (&[0][..], Note::Cycle));
    }
}
