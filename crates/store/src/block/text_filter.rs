//! Text filters: for each page of 8,192 texts a bitmap of the short pieces they
//! are made of, so that a search for a text reads few pages.
//!
//! A *token* is a run of ASCII letters, digits, `_` and bytes from `0x80` on, in
//! small letters. Of a token of six bytes and more each piece of six bytes, a
//! *gram*, sets one bit; a shorter token sets one as a whole. What is looked for
//! is in the page only if all bits of its own grams are set, and it mostly has
//! several: one bit for each is enough. A short token counts only where what is
//! looked for shows both its ends.
//!
//! Region: number of granules, then for each the number of its 64-bit words,
//! all little-endian 32 bits; then the words. The words of a granule are a power
//! of two; none if it has no text, and [`UNKNOWN`] where there would be too many
//! or most bits would be set: such a granule may hold anything.

use std::borrow::Cow;

use bytes::Bytes;

use crate::limits::{TEXT_FILTER_MAX_BYTES, TEXT_FILTER_MAX_TEXT_BYTES};

/// Bytes of a gram. Fewer would be in every page, since random digits have few
/// different ones; more would leave out more tokens that are looked for in part.
const GRAM_BYTES: u32 = 6;
/// In place of a number of words: nothing is known of the granule.
const UNKNOWN: u32 = u32::MAX;
/// Bits of the smallest bitmap: one word.
const LEAST_BITS: usize = 64;
/// A bitmap has at most one bit for so many bytes of text: a thirty-second of them.
const TEXT_BYTES_PER_BIT: usize = 4;
/// A bitmap is halved as long as at most this share of bits is set then.
const HALVE_BELOW_PERCENT: usize = 45;
/// A bitmap with more of its bits set tells too little to be kept.
const FULL_PERCENT: usize = 80;

/// For each byte the one that is hashed; 0 for those that separate tokens.
const FOLDED: [u8; 256] = {
    let mut folded = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let b = byte as u8;
        if b.is_ascii_alphanumeric() || b == b'_' || b >= 0x80 {
            folded[byte] = b.to_ascii_lowercase();
        }
        byte += 1;
    }
    folded
};

/// The byte as it is hashed; `None` if it separates tokens.
pub(crate) fn folded(byte: u8) -> Option<u8> {
    Some(FOLDED[usize::from(byte)]).filter(|folded| *folded != 0)
}

/// A token under way: its last bytes, the latest highest, and how many there were.
#[derive(Clone, Copy, Default)]
struct Token {
    last: u64,
    bytes: u32,
}

impl Token {
    /// Appends a byte; returns the hash of the gram that ends there.
    #[inline]
    fn push(&mut self, folded: u8) -> Option<u64> {
        self.last = self.last >> 8 | u64::from(folded) << (8 * (GRAM_BYTES - 1));
        self.bytes += 1;
        (self.bytes >= GRAM_BYTES).then(|| hash(self.last))
    }

    /// The hash of the whole token, if it is short, and not empty.
    #[inline]
    fn short(self) -> Option<u64> {
        let is_short = self.bytes > 0 && self.bytes < GRAM_BYTES;
        is_short.then(|| hash(self.last | u64::from(self.bytes) << 56))
    }
}

/// Both halves of a product of 128 bits, so that every byte reaches every bit.
#[inline]
fn hash(gram: u64) -> u64 {
    let product = u128::from(gram) * 0x9e37_79b9_7f4a_7c15;
    product as u64 ^ (product >> 64) as u64
}

/// Calls `each` with the hashes of a text.
#[inline]
fn each_hash(text: &[u8], mut each: impl FnMut(u64)) {
    let mut token = Token::default();
    for byte in text {
        match FOLDED[usize::from(*byte)] {
            0 => {
                if let Some(hash) = token.short() {
                    each(hash);
                }
                token = Token::default();
            }
            folded => {
                if let Some(hash) = token.push(folded) {
                    each(hash);
                }
            }
        }
    }
    if let Some(hash) = token.short() {
        each(hash);
    }
}

/// What is known of one place of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// This byte is there, or the same letter in the other case.
    Byte(u8),
    /// Whatever is there, no token goes on across it.
    Boundary,
    /// Nothing: any bytes may be there, or none.
    Gap,
}

/// The hashes that every text of this form has. There are gaps at both ends.
pub(crate) fn hashes_of(form: impl IntoIterator<Item = Known>) -> Vec<u64> {
    let mut hashes = Vec::new();
    let mut token = Token::default();
    let mut begins_here = false;
    for known in form {
        let byte = match known {
            Known::Gap => {
                (token, begins_here) = (Token::default(), false);
                continue;
            }
            Known::Boundary => None,
            Known::Byte(byte) => folded(byte),
        };
        match byte {
            Some(byte) => hashes.extend(token.push(byte)),
            None => {
                hashes.extend(token.short().filter(|_| begins_here));
                (token, begins_here) = (Token::default(), true);
            }
        }
    }
    hashes.sort_unstable();
    hashes.dedup();
    hashes
}

/// Makes the region of a column, granule after granule.
#[derive(Debug, Default)]
pub(crate) struct TextFilterBuilder {
    sizes: Vec<u32>,
    body: Vec<u8>,
    words: Vec<u64>,
}

impl TextFilterBuilder {
    /// Appends a granule of these texts.
    pub(crate) fn granule(&mut self, texts: &[Cow<'_, [u8]>]) {
        let text_bytes: usize = texts.iter().map(|text| text.len()).sum();
        if text_bytes == 0 {
            return self.sizes.push(0);
        }
        if text_bytes > TEXT_FILTER_MAX_TEXT_BYTES {
            return self.sizes.push(UNKNOWN);
        }
        let bits = (text_bytes / TEXT_BYTES_PER_BIT + 1).next_power_of_two();
        let bits = bits.clamp(LEAST_BITS, TEXT_FILTER_MAX_BYTES * 8);
        self.words.clear();
        self.words.resize(bits / 64, 0);
        let mask = bits as u64 - 1;
        for text in texts {
            each_hash(text, |hash| {
                let bit = hash & mask;
                self.words[(bit / 64) as usize] |= 1 << (bit % 64);
            });
        }
        if percent(self.words.iter().copied()) > FULL_PERCENT {
            return self.sizes.push(UNKNOWN);
        }
        while self.words.len() > 1 {
            let half = self.words.len() / 2;
            let (low, high) = self.words.split_at_mut(half);
            if percent(low.iter().zip(&*high).map(|(a, b)| a | b)) > HALVE_BELOW_PERCENT {
                break;
            }
            low.iter_mut().zip(&*high).for_each(|(a, b)| *a |= b);
            self.words.truncate(half);
        }
        self.sizes.push(self.words.len() as u32);
        self.body.extend(self.words.iter().flat_map(|word| word.to_le_bytes()));
    }

    /// The region's bytes.
    pub(crate) fn finish(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(4 + self.sizes.len() * 4 + self.body.len());
        bytes.extend_from_slice(&(self.sizes.len() as u32).to_le_bytes());
        bytes.extend(self.sizes.iter().flat_map(|size| size.to_le_bytes()));
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

/// The share of bits that are set.
fn percent(words: impl ExactSizeIterator<Item = u64>) -> usize {
    let bits = words.len() * 64;
    words.map(|word| word.count_ones() as usize).sum::<usize>() * 100 / bits.max(1)
}

/// The bitmap of one granule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Unknown,
    Empty,
    /// Its first byte, and its bits less one.
    Bits(usize, u64),
}

/// The text filters of a column, read.
#[derive(Debug)]
pub(crate) struct TextFilters {
    places: Vec<Place>,
    bytes: Bytes,
}

impl TextFilters {
    /// From the region's bytes; `None` if they are not such a region.
    pub(crate) fn parse(bytes: Bytes) -> Option<Self> {
        let number = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
        let granules = number(0)? as usize;
        let mut at = granules.checked_mul(4)?.checked_add(4).filter(|end| *end <= bytes.len())?;
        let mut places = Vec::with_capacity(granules);
        for granule in 0..granules {
            places.push(match number(4 + granule * 4)? {
                UNKNOWN => Place::Unknown,
                0 => Place::Empty,
                words if words.is_power_of_two() => {
                    let place = Place::Bits(at, u64::from(words) * 64 - 1);
                    at = at.checked_add(words as usize * 8).filter(|end| *end <= bytes.len())?;
                    place
                }
                _ => return None,
            });
        }
        (at == bytes.len()).then_some(Self { places, bytes })
    }

    /// Whether a text of `granule` may have `hash`. True where nothing is known.
    pub(crate) fn may_hold(&self, granule: usize, hash: u64) -> bool {
        match self.places.get(granule) {
            None | Some(Place::Unknown) => true,
            Some(Place::Empty) => false,
            Some(Place::Bits(first, mask)) => {
                let bit = hash & mask;
                self.bytes[first + (bit / 8) as usize] >> (bit % 8) & 1 == 1
            }
        }
    }

    /// Bytes held on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.bytes.len() + self.places.len() * size_of::<Place>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(granules: &[&[&str]]) -> Vec<u8> {
        let mut builder = TextFilterBuilder::default();
        for texts in granules {
            let texts: Vec<_> = texts.iter().map(|text| Cow::from(text.as_bytes())).collect();
            builder.granule(&texts);
        }
        builder.finish()
    }

    fn filters(granules: &[&[&str]]) -> TextFilters {
        TextFilters::parse(region(granules).into()).unwrap()
    }

    fn part(text: &str) -> Vec<u64> {
        hashes_of(text.bytes().map(Known::Byte))
    }

    fn whole(text: &str) -> Vec<u64> {
        let bytes = text.bytes().map(Known::Byte);
        hashes_of([Known::Boundary].into_iter().chain(bytes).chain([Known::Boundary]))
    }

    #[test]
    fn a_whole_text_has_the_hashes_that_it_is_stored_with() {
        for text in ["", "a", "GET /x_1 id=00ff12ab ok", "grün Übermaß-42", "      ", "123456"] {
            let mut stored = Vec::new();
            each_hash(text.as_bytes(), |hash| stored.push(hash));
            stored.sort_unstable();
            stored.dedup();
            assert_eq!(stored, whole(text), "{text}");
        }
    }

    #[test]
    fn every_part_of_a_text_may_be_in_it() {
        let text = "Retrying call to upstream id=07c3a91f, käse=9 duration=12.5ms";
        let filters = filters(&[&[text, "other"], &[], &["nothing of that kind"]]);
        for start in (0..text.len()).filter(|at| text.is_char_boundary(*at)) {
            for end in (start..=text.len()).filter(|at| text.is_char_boundary(*at)) {
                let hashes = part(&text[start..end]);
                assert!(hashes.iter().all(|hash| filters.may_hold(0, *hash)), "{start}..{end}");
            }
        }
        assert!(whole(text).iter().all(|hash| filters.may_hold(0, *hash)));
        assert!(part("RETRYING").iter().all(|hash| filters.may_hold(0, *hash)), "any case");
    }

    #[test]
    fn a_short_token_counts_only_if_both_its_ends_are_seen() {
        assert_eq!(part("error").len(), 0);
        assert_eq!(part("an error").len(), 0);
        assert_eq!(part(" error ").len(), 1);
        assert_eq!(part("=07c3a91f").len(), 3);
        let gap = [Known::Boundary, Known::Byte(b'a'), Known::Gap, Known::Boundary];
        assert_eq!(hashes_of(gap).len(), 0);
    }

    #[test]
    fn what_is_not_there_is_mostly_known_not_to_be() {
        let texts: Vec<String> = (0..8192u32)
            .map(|i| format!("order accepted id={:08x} ok", i.wrapping_mul(2_654_435_761)))
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let bytes = region(&[&texts, &[]]);
        assert!(bytes.len() <= 8192 + 12, "{} bytes", bytes.len());
        let filters = TextFilters::parse(bytes.into()).unwrap();
        let may_hold =
            |granule, text: &str| part(text).iter().all(|hash| filters.may_hold(granule, *hash));
        assert!(texts.iter().all(|text| may_hold(0, &text[5..])));
        let wrong = (0..10_000u32)
            .filter(|i| may_hold(0, &format!("{:08x}", i.wrapping_mul(0x9e37_79b9) | 1 << 31)))
            .count();
        assert!(wrong < 1200, "{wrong} of 10000 in vain");
        assert!(!may_hold(1, "accepted"), "a granule without texts holds nothing");
        assert!(may_hold(1, "error") && may_hold(2, "accepted"), "nothing is known of these");
    }

    #[test]
    fn texts_that_would_fill_a_bitmap_have_none() {
        // Nearly every byte begins a gram of its own.
        let mut state = 1u64;
        let noise: String = (0..40_000)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                char::from(b'a' + (state >> 33) as u8 % 26)
            })
            .collect();
        let filters = filters(&[&[noise.as_str()], &["calm"]]);
        assert_eq!(filters.places[0], Place::Unknown);
        assert!(filters.may_hold(0, 1) && !filters.may_hold(1, part("storms")[0]));
        let mut builder = TextFilterBuilder::default();
        builder.granule(&[Cow::from(vec![b' '; TEXT_FILTER_MAX_TEXT_BYTES + 1])]);
        assert!(builder.finish().ends_with(&UNKNOWN.to_le_bytes()));
    }

    #[test]
    fn damaged_regions_are_refused() {
        let bytes = region(&[&["a text that sets some bits"], &[], &["and another one"]]);
        assert!(
            (0..bytes.len()).all(|end| TextFilters::parse(bytes[..end].to_vec().into()).is_none())
        );
        let longer = [&bytes[..], &[0]].concat();
        assert!(TextFilters::parse(longer.into()).is_none());
        for words in [3u32, 1 << 31, UNKNOWN - 1, 1 << 20] {
            let mut wrong = bytes.clone();
            wrong[4..8].copy_from_slice(&words.to_le_bytes());
            assert!(TextFilters::parse(wrong.into()).is_none(), "{words} words");
        }
        assert!(TextFilters::parse(vec![0xff; 64].into()).is_none());
    }
}
