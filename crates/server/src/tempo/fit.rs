//! Answers made small enough for messages of gRPC, whose clients refuse more than 4 MiB.
//!
//! A trace shows fewer of its spans; how many matched stays. Series over time are divided. Series of
//! one value are left out, the last first, which the answer tells. Over HTTP nothing is left out.

use prost::Message;

use super::convert::PARTIAL;
use super::messages::{QueryInstantResponse, QueryRangeResponse, TraceSearchMetadata};
use crate::limits::{MAX_MESSAGE_BYTES, STREAM_MESSAGE_BYTES};

/// What a field takes besides its message: its number and its length.
const FIELD_BYTES: usize = 6;
/// Room for the other fields of a message.
const OTHER_BYTES: usize = 4 << 10;

fn size_of(message: &impl Message) -> usize {
    message.encoded_len() + FIELD_BYTES
}

/// A trace that fits. The first of its spansets is there a second time where Tempo has it, unless
/// that makes it large.
pub(super) fn trace(mut trace: TraceSearchMetadata) -> TraceSearchMetadata {
    let size_bytes = trace.encoded_len();
    let first = trace.span_sets.first();
    if first.is_none_or(|first| size_bytes + size_of(first) <= STREAM_MESSAGE_BYTES) {
        trace.span_set = first.cloned();
    } else if size_bytes > MAX_MESSAGE_BYTES - OTHER_BYTES {
        cut_spans(&mut trace, MAX_MESSAGE_BYTES - OTHER_BYTES);
    }
    trace
}

/// Leaves each spanset its share of the bytes, and what those before it did not need.
fn cut_spans(trace: &mut TraceSearchMetadata, max_bytes: usize) {
    let mut sets = std::mem::take(&mut trace.span_sets);
    let shown: Vec<_> = sets.iter_mut().map(|set| std::mem::take(&mut set.spans)).collect();
    let mut left_bytes = max_bytes.saturating_sub(trace.encoded_len());
    // Thousands of groups may be too many by themselves.
    let mut heads_bytes = 0;
    sets.retain(|set| {
        heads_bytes += size_of(set);
        heads_bytes <= left_bytes
    });
    left_bytes -= sets.iter().map(size_of).sum::<usize>();
    let count = sets.len();
    for (nth, (set, spans)) in sets.iter_mut().zip(shown).enumerate() {
        let share_bytes = left_bytes / (count - nth);
        let mut used_bytes = 0;
        let fits = |span: &_| {
            used_bytes += size_of(span);
            used_bytes <= share_bytes
        };
        set.spans = spans.into_iter().take_while(fits).collect();
        left_bytes -= set.spans.iter().map(size_of).sum::<usize>();
    }
    trace.span_sets = sets;
}

/// Series over time, in as many messages as they need: clients put them together, since Tempo sends
/// series as they become known.
pub(super) fn series(mut answer: QueryRangeResponse) -> Vec<QueryRangeResponse> {
    let all = std::mem::take(&mut answer.series);
    let mut messages = Vec::new();
    let mut message = answer.clone();
    let mut used_bytes = answer.encoded_len();
    for mut one in all {
        if size_of(&one) > MAX_MESSAGE_BYTES - OTHER_BYTES {
            one.exemplars.clear();
        }
        let size_bytes = size_of(&one);
        if used_bytes + size_bytes > STREAM_MESSAGE_BYTES && !message.series.is_empty() {
            messages.push(std::mem::replace(&mut message, answer.clone()));
            used_bytes = answer.encoded_len();
        }
        used_bytes += size_bytes;
        message.series.push(one);
    }
    messages.push(message);
    messages
}

/// Series of one value each: as many as fit into one message, since a second would take the place
/// of the first.
pub(super) fn values(mut answer: QueryInstantResponse) -> QueryInstantResponse {
    if answer.encoded_len() <= MAX_MESSAGE_BYTES {
        return answer;
    }
    let found = answer.series.len();
    let mut used_bytes = answer.message.len() + OTHER_BYTES;
    let fitting = answer.series.iter().take_while(|one| {
        used_bytes += size_of(*one);
        used_bytes <= MAX_MESSAGE_BYTES
    });
    let fitting = fitting.count();
    answer.series.truncate(fitting);
    answer.status = PARTIAL;
    let divider = if answer.message.is_empty() { "" } else { "; " };
    answer.message += &format!(
        "{divider}{} of {found} series are left out, since a message of gRPC would be too large: \
         ask for fewer with a filter, topk() or fewer names in by(), or over HTTP",
        found - fitting
    );
    answer
}

#[cfg(test)]
mod tests {
    use super::super::messages::{InstantSeries, KeyValue, Span, SpanSet, TimeSeries};
    use super::*;

    fn key(bytes: usize) -> Vec<KeyValue> {
        vec![KeyValue { key: "k".repeat(bytes), value: None }]
    }

    fn set(spans: usize, span_bytes: usize) -> SpanSet {
        let span = Span { attributes: key(span_bytes), ..Span::default() };
        SpanSet { spans: vec![span; spans], matched: spans as u32, attributes: key(10) }
    }

    fn shown(sets: Vec<SpanSet>) -> (Vec<usize>, bool) {
        let fitting = trace(TraceSearchMetadata { span_sets: sets, ..Default::default() });
        assert!(fitting.encoded_len() <= MAX_MESSAGE_BYTES - OTHER_BYTES);
        let counts = fitting.span_sets.iter().map(|set| set.spans.len()).collect();
        (counts, fitting.span_set.is_some())
    }

    #[test]
    fn a_trace_shows_as_many_spans_as_fit() {
        assert_eq!(shown(vec![]), (vec![], false));
        assert_eq!(shown(vec![set(3, 100)]), (vec![3], true));
        assert_eq!(shown(vec![set(300, 10_000)]), (vec![300], false));
        let (counts, twice) = shown(vec![set(1000, 10_000), set(2, 10), set(1000, 10_000)]);
        assert!(!twice && counts[1] == 2, "{counts:?}");
        assert!(counts[0] > 100 && counts[2] >= counts[0], "{counts:?}");
        let (many, _) = shown(vec![set(1, 1); 200_000]);
        assert!((50_000..200_000).contains(&many.len()), "{}", many.len());
        assert_eq!(shown(vec![set(1, 5 << 20)]).0, [0]);
    }

    #[test]
    fn series_over_time_are_divided_and_none_is_lost() {
        let one =
            |value: usize| TimeSeries { labels: key(10_000 + value), ..TimeSeries::default() };
        let message = "1 damaged block is left out".to_owned();
        let answer = |count: usize| QueryRangeResponse {
            series: (0..count).map(one).collect(),
            status: PARTIAL,
            message: message.clone(),
            ..Default::default()
        };
        assert_eq!(series(answer(9)), [answer(9)]);
        assert_eq!(series(answer(0)), [answer(0)]);
        let divided = series(answer(900));
        assert!(divided.len() > 5);
        for part in &divided {
            assert!(part.encoded_len() <= STREAM_MESSAGE_BYTES && !part.series.is_empty());
            assert_eq!((part.status, &part.message), (PARTIAL, &message));
        }
        let whole: Vec<_> = divided.into_iter().flat_map(|part| part.series).collect();
        assert_eq!(whole, answer(900).series);
    }

    #[test]
    fn values_are_left_out_and_counted() {
        let one = InstantSeries { labels: key(10_000), value: 1.0 };
        let message = "1 damaged block is left out".to_owned();
        let few = QueryInstantResponse { series: vec![one.clone(); 9], ..Default::default() };
        assert_eq!(values(few.clone()), few);
        let many = QueryInstantResponse { series: vec![one; 900], message, ..Default::default() };
        let cut = values(many);
        assert!(cut.encoded_len() <= MAX_MESSAGE_BYTES && cut.series.len() > 300);
        assert_eq!(cut.status, PARTIAL);
        let words = format!("left out; {} of 900 series", 900 - cut.series.len());
        assert!(cut.message.contains(&words), "{}", cut.message);
    }

    #[test]
    fn a_series_without_its_examples_is_better_than_none() {
        let exemplar = super::super::messages::Exemplar { labels: key(1000), ..Default::default() };
        let one = TimeSeries { exemplars: vec![exemplar; 9000], ..TimeSeries::default() };
        let cut = series(QueryRangeResponse { series: vec![one], ..Default::default() });
        assert_eq!((cut.len(), cut[0].series[0].exemplars.len()), (1, 0));
    }
}
