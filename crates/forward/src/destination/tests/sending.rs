//! What arrives: the same bytes, in order, once if nothing goes wrong.

use kymo_journal::Edit;

use super::sink::{Reply, Sink};
use super::*;
use crate::destination::pack::pack;
use crate::destination::settings::{
    CompressionSetting, RouteSettings, SamplingSettings, SignalName, TailSettings,
};
use crate::destination::testing::spans;

fn gzip(body: &[u8]) -> Vec<u8> {
    pack(&[body.to_vec().into()], Compression::Gzip).unwrap().to_vec()
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_arrive_in_order_and_the_cursor_is_at_the_end() {
    for protocol in [DestinationProtocol::Grpc, DestinationProtocol::Http] {
        let (node, sink) = (Node::new(), Sink::taking().await);
        node.append_numbers(0..100);
        let destinations = node.start(&[to(protocol, sink.url())]);
        sink.until(|sink| sink.spans().len() == 100).await;
        node.append_numbers(100..200);
        sink.until(|sink| sink.spans().len() == 200).await;
        assert_eq!(sink.spans(), numbers(0..200));
        assert!(sink.taken().len() < 200, "what waits together is sent together");
        let status = until_status(&destinations, |status| status.lag_bytes == 0).await;
        assert_eq!(status.signals[0].sent_records, 200);
        assert_eq!(status.signals[0].sent_requests, sink.taken().len() as u64);
        assert_eq!((status.retries, &status.last_error), (0, &None));
        until_status(&destinations, |status| status.state == DestinationState::Idle).await;
        destinations.stop().await;
        assert_eq!(destinations.status()[0].state, DestinationState::Stopped);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_stay_as_they_came_packed_or_not() {
    for protocol in [DestinationProtocol::Grpc, DestinationProtocol::Http] {
        let (node, sink) = (Node::new(), Sink::taking().await);
        let plain = traces(&[(1, "a")]);
        let packed = gzip(&plain);
        node.append(Compression::Gzip, packed.clone());
        node.append(Compression::None, plain.clone());
        let _destinations = node.start(&[to(protocol, sink.url())]);
        sink.until(|sink| sink.taken().len() == 2).await;
        let taken = sink.taken();
        assert_eq!((&taken[0].body[..], &taken[1].body[..]), (&packed[..], &plain[..]));
        let encoding = match protocol {
            DestinationProtocol::Grpc => "grpc-encoding",
            _ => "content-encoding",
        };
        assert_eq!(taken[0].headers[encoding], "gzip");
        assert!(!taken[1].headers.contains_key(encoding));
        assert_eq!(taken[0].is_packed, protocol == DestinationProtocol::Grpc);
        let path = match protocol {
            DestinationProtocol::Grpc => kymo_wire::Signal::Traces.grpc_path(),
            _ => "/v1/traces",
        };
        assert_eq!(taken[0].path, path);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_cannot_unpack_gets_plain_bytes_from_then_on() {
    let node = Node::new();
    let sink = Sink::new(|received| match received.is_packed {
        true => Reply::Grpc(12),
        false => Reply::Taken,
    })
    .await;
    for name in ["a", "b", "c"] {
        node.append(Compression::Gzip, gzip(&traces(&[(1, name)])));
    }
    let _destinations = node.start(&[to(DestinationProtocol::Grpc, sink.url())]);
    sink.until(|sink| sink.spans().len() == 3).await;
    assert_eq!(sink.spans(), ["a", "b", "c"]);
    assert_eq!(sink.all().iter().filter(|received| received.is_packed).count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_packed_if_that_is_asked_for() {
    let (node, sink) = (Node::new(), Sink::taking().await);
    let plain = traces(&[(1, "a")]);
    node.append(Compression::None, plain.clone());
    let mut settings = to(DestinationProtocol::Http, sink.url());
    settings.compression = CompressionSetting::Zstd;
    let _destinations = node.start(&[settings]);
    sink.until(|sink| sink.taken().len() == 1).await;
    let taken = sink.taken().remove(0);
    assert_eq!(taken.headers["content-encoding"], "zstd");
    let unpacked = crate::destination::pack::unpack(&taken.body, Compression::Zstd).unwrap();
    assert_eq!(unpacked, plain);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_tenant_is_named_and_the_default_one_is_not() {
    let (node, sink) = (Node::new(), Sink::taking().await);
    for tenant in ["default", "a", "b"] {
        let (signal, format) = (Signal::Logs, Format::OtlpProtobuf);
        node.append_as(tenant, signal, format, Compression::None, vec![0x0a, 0]);
    }
    let mut settings = to(DestinationProtocol::Http, sink.url());
    settings.tenants = Some(vec!["default".to_owned(), "b".to_owned()]);
    settings.bearer = Some(kymo_yaml::Secret::new("t0ken"));
    let _destinations = node.start(&[settings]);
    sink.until(|sink| sink.taken().len() == 2).await;
    let taken = sink.taken();
    assert_eq!(taken[0].headers.get("x-scope-orgid"), None);
    assert_eq!(taken[1].headers["x-scope-orgid"], "b");
    assert_eq!(taken[1].headers["authorization"], "Bearer t0ken");
    assert_eq!(taken[1].path, "/v1/logs");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_a_route_takes_goes_and_the_cursor_passes_the_rest() {
    let (node, sink) = (Node::new(), Sink::taking().await);
    let whole = gzip(&traces(&[(1, "yes"), (2, "yes")]));
    node.append(Compression::Gzip, whole.clone());
    node.append(Compression::Gzip, gzip(&traces(&[(1, "no")])));
    node.append(Compression::None, traces(&[(1, "no"), (2, "yes")]));
    let mut settings = to(DestinationProtocol::Grpc, sink.url());
    let condition = Some("name = \"yes\"".to_owned());
    settings.routes = vec![RouteSettings { signal: SignalName::Traces, condition }];
    let destinations = node.start(&[settings]);
    until_status(&destinations, |status| status.lag_bytes == 0).await;
    let taken = sink.taken();
    assert_eq!(taken.len(), 2);
    assert_eq!(taken[0].body, whole, "bytes of which everything goes stay as they came");
    assert_eq!(crate::destination::testing::spans(&taken[1].body), ["yes"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn whole_traces_that_failed_arrive_and_others_do_not() {
    let (node, sink) = (Node::new(), Sink::taking().await);
    node.append(Compression::None, traces(&[(1, "a"), (2, "b")]));
    node.append(Compression::Gzip, gzip(&traces(&[(1, "error"), (3, "c")])));
    let mut settings = to(DestinationProtocol::Grpc, sink.url());
    let wait = Duration::from_millis(50);
    let tail = TailSettings { errors: true, wait, ..TailSettings::default() };
    settings.sampling = Some(SamplingSettings { ratio: None, tail: Some(tail) });
    let destinations = node.start(&[settings]);
    until_status(&destinations, |status| status.lag_bytes == 0).await;
    assert_eq!(sink.spans(), ["a", "error"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn several_on_their_way_at_once_all_arrive() {
    let (node, sink) = (Node::new(), Sink::taking().await);
    for number in 0..50 {
        node.append(Compression::Gzip, gzip(&traces(&[(1, &number.to_string())])));
    }
    let mut settings = to(DestinationProtocol::Grpc, sink.url());
    settings.concurrency = 4;
    let destinations = node.start(&[settings]);
    let status = until_status(&destinations, |status| status.lag_bytes == 0).await;
    assert_eq!(status.signals[0].sent_requests, 50);
    assert_eq!(sink.taken().len(), 50);
}

#[tokio::test(flavor = "multi_thread")]
async fn spans_that_waited_for_a_decision_are_not_lost_in_a_crash() {
    let mut node = Node::new();
    let sink = Sink::taking().await;
    let sampled = |wait: Duration| {
        let mut settings = to(DestinationProtocol::Grpc, sink.url());
        let tail = TailSettings { errors: true, wait, ..TailSettings::default() };
        settings.sampling = Some(SamplingSettings { ratio: None, tail: Some(tail) });
        settings
    };
    node.append(Compression::None, traces(&[(1, "a"), (1, "error"), (2, "b")]));
    let destinations = node.start(&[sampled(Duration::from_secs(600))]);
    until_status(&destinations, |status| status.oldest_age_millis.is_some()).await;
    node.crash(destinations);
    let destinations = node.start(&[sampled(Duration::from_millis(1))]);
    until_status(&destinations, |status| status.lag_bytes == 0).await;
    assert_eq!(sink.spans(), ["a", "error"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn late_spans_follow_a_decision_that_was_made_before_a_crash() {
    let mut node = Node::new();
    let sink = Sink::taking().await;
    let mut settings = to(DestinationProtocol::Grpc, sink.url());
    let wait = Duration::from_millis(1);
    let tail = TailSettings { errors: true, wait, ..TailSettings::default() };
    settings.sampling = Some(SamplingSettings { ratio: None, tail: Some(tail) });
    let destinations = node.start(std::slice::from_ref(&settings));
    node.append(Compression::None, traces(&[(1, "error"), (2, "a")]));
    sink.until(|sink| sink.spans() == ["error"]).await;
    until_status(&destinations, |status| status.lag_bytes == 0).await;
    node.crash(destinations);
    node.append(Compression::None, traces(&[(1, "late"), (2, "error")]));
    let destinations = node.start(&[settings]);
    until_status(&destinations, |status| status.lag_bytes == 0).await;
    assert_eq!(sink.spans(), ["error", "late"], "the second trace was not chosen");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cursor_passes_records_that_were_erased_at_the_end() {
    let mut node = Node::new();
    let sink = Sink::taking().await;
    let settings = to(DestinationProtocol::Grpc, sink.url());
    let destinations = node.start(std::slice::from_ref(&settings));
    node.append_numbers(0..1);
    until_status(&destinations, |status| status.lag_bytes == 0).await;
    node.crash(destinations);
    node.append_numbers(1..4);
    // Nothing comes behind the last one with which the cursor would pass it.
    let journal = node.journal();
    let erased = journal.erase(journal.end(), |entry| {
        let is_last = spans(&entry.body) == ["3"];
        Ok::<_, kymo_journal::Error>(if is_last { Edit::Erase } else { Edit::Keep })
    });
    assert_eq!(erased.unwrap().erased, 1);
    let destinations = node.start(&[settings]);
    until_status(&destinations, |status| status.lag_bytes == 0).await;
    assert_eq!(sink.spans().last().map(String::as_str), Some("2"));
}
