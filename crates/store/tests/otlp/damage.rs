//! A damaged block never makes up spans, and never hides those of the others.

use bytes::Bytes;
use kymo_store::block::source::Source;
use kymo_store::otlp::trace_by_id;
use kymo_store::schema::Signal;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message;

use crate::generate::Case;
use crate::place::Place;
use crate::random::Random;

#[test]
fn a_damaged_block_is_left_out_and_counted() {
    let mut case = Case::small(500, 1);
    let place = Place::new(Signal::Spans);
    let requests: Vec<_> = (0..4).map(|_| case.traces(2, 20)).collect();
    let encoded: Vec<Vec<u8>> = requests.iter().map(Message::encode_to_vec).collect();
    let chunk = place.chunk(&encoded[..2]);
    let id = trace_id(&requests);
    let mut random = Random::new(501);
    let (mut damaged, mut unharmed) = (0, 0);
    for block in place.blocks(&place.chunks(&encoded[2..])) {
        let Source::Block(opened) = &block else { continue };
        let bytes = place.objects.get(opened.path()).unwrap();
        let whole = trace_by_id(&[chunk.clone(), block.clone()], &id).unwrap().unwrap();
        let rest = trace_by_id(std::slice::from_ref(&chunk), &id).unwrap().unwrap();
        for _ in 0..300 {
            let mut broken = bytes.to_vec();
            let at = random.below(broken.len() as u64) as usize;
            broken[at] ^= 1 << random.below(8);
            // What is wrong in the footer is told on opening.
            let Ok(broken) = place.open(Bytes::from(broken)) else { continue };
            let sources = [chunk.clone(), Source::Block(broken)];
            let trace = trace_by_id(&sources, &id).unwrap().unwrap();
            if trace.damaged_blocks == 0 {
                assert_eq!(trace, whole, "byte {at}");
                unharmed += 1;
            } else {
                assert_eq!((&trace.body, trace.damaged_blocks), (&rest.body, 1), "byte {at}");
                damaged += 1;
            }
        }
    }
    assert!(damaged > 50 && unharmed > 0, "{damaged} damaged, {unharmed} unharmed");
}

fn trace_id(requests: &[ExportTraceServiceRequest]) -> [u8; 16] {
    let spans = requests.iter().flat_map(|r| &r.resource_spans).flat_map(|r| &r.scope_spans);
    let span = spans.flat_map(|s| &s.spans).next().unwrap();
    span.trace_id.clone().try_into().unwrap()
}
