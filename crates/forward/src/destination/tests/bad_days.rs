//! Servers that are away, busy, silent, confused, or do not want something.

use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::sink::{Reply, Sink};
use super::*;
use crate::destination::settings::SignalName;
use crate::destination::testing::spans;

/// Answers the first requests with one reply, and takes all others.
fn first(count: usize, reply: Reply) -> impl FnMut(&super::sink::Received) -> Reply {
    let mut left = count;
    move |_| {
        if left == 0 {
            return Reply::Taken;
        }
        left -= 1;
        reply.clone()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_was_away_gets_everything_in_order() {
    let node = Node::new();
    // A port where nobody listens until the sink is there.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let endpoint = format!("http://{address}");
    let destinations = node.start(&[to(DestinationProtocol::Grpc, endpoint)]);
    node.append_numbers(0..100);
    let status = until_status(&destinations, |status| status.retries > 2).await;
    assert!(
        status.lag_bytes > 0 && status.last_error.is_some() && status.oldest_age_millis.is_some()
    );
    let listener = tokio::net::TcpListener::bind(address).await.unwrap();
    let sink = Sink::on(listener, None, |_| Reply::Taken);
    sink.until(|sink| sink.spans().len() == 100).await;
    assert_eq!(sink.spans(), numbers(0..100));
    until_status(&destinations, |status| status.lag_bytes == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_taken_before_a_crash_is_sent_after_it() {
    let mut node = Node::new();
    let sink = Sink::new({
        let asked = AtomicUsize::new(0);
        // Ten are taken, then nobody answers.
        move |_| match asked.fetch_add(1, Ordering::Relaxed) {
            0..10 => Reply::Taken,
            _ => Reply::Never,
        }
    })
    .await;
    let destinations = node.start(&[to(DestinationProtocol::Grpc, sink.url())]);
    for number in 0..20 {
        node.append_numbers(number..number + 1);
        sink.until(|sink| sink.all().len() > number.min(10)).await;
    }
    node.crash(destinations);
    let second = Sink::taking().await;
    let _destinations = node.start(&[to(DestinationProtocol::Grpc, second.url())]);
    second.until(|sink| sink.spans().last().is_some_and(|name| name == "19")).await;
    let (before, after) = (sink.spans(), second.spans());
    assert_eq!(before, numbers(0..10));
    let again = 20 - after.len();
    assert!(again <= 10, "at least once: {after:?}");
    assert_eq!(after, numbers(again..20), "in order");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_server_is_left_alone_as_long_as_it_asks() {
    let node = Node::new();
    let sink = Sink::new(first(1, Reply::Http(429, Some(1)))).await;
    node.append_numbers(0..1);
    let destinations = node.start(&[to(DestinationProtocol::Http, sink.url())]);
    let is_waiting = |status: &DestinationStatus| status.state == DestinationState::WaitingToRetry;
    until_status(&destinations, is_waiting).await;
    sink.until(|sink| sink.taken().len() == 1).await;
    let all = sink.all();
    assert!(all[1].at - all[0].at >= Duration::from_secs(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_never_answers_is_asked_again() {
    let node = Node::new();
    let sink = Sink::new(first(2, Reply::Never)).await;
    node.append_numbers(0..1);
    let mut settings = to(DestinationProtocol::Grpc, sink.url());
    settings.timeout = Duration::from_millis(100);
    let destinations = node.start(&[settings]);
    sink.until(|sink| sink.taken().len() == 1).await;
    let status = until_status(&destinations, |status| status.lag_bytes == 0).await;
    assert_eq!(status.retries, 2);
    let said = status.last_error.unwrap().message;
    assert!(said.contains("no answer within 0.1 s"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_is_no_answer_of_grpc_and_after_some_tries_a_request_is_set_aside() {
    let node = Node::new();
    let sink = Sink::new(|received| match spans(&received.body).contains(&"bad".to_owned()) {
        true => Reply::Garbage,
        false => Reply::Taken,
    })
    .await;
    node.append(Compression::None, traces(&[(1, "bad")]));
    let destinations = node.start(&[to(DestinationProtocol::Grpc, sink.url())]);
    sink.until(|sink| sink.all().len() == 1).await;
    node.append(Compression::None, traces(&[(1, "good")]));
    let status = until_status(&destinations, |status| status.lag_bytes == 0).await;
    assert_eq!(sink.spans(), ["good"]);
    assert_eq!(sink.all().len(), 12, "ten tries, the next one, and a last try");
    assert_eq!((status.signals[0].refused_records, node.refused("hub").len()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_in_a_row_that_a_server_fails_at_do_not_hold_up_those_behind_them() {
    for reply in [Reply::Garbage, Reply::Grpc(13), Reply::Http(500, None)] {
        let node = Node::new();
        let sink = Sink::new(move |received| {
            match spans(&received.body).iter().any(|name| name.starts_with("bad")) {
                true => reply.clone(),
                false => Reply::Taken,
            }
        })
        .await;
        // More than are tried at first.
        let bad = crate::limits::FIRST_IN_DOUBT + 4;
        node.append(Compression::None, traces(&[(1, "first")]));
        for number in 0..bad {
            node.append(Compression::None, traces(&[(1, &format!("bad {number}"))]));
        }
        node.append_numbers(0..3);
        let destinations = node.start(&[to(DestinationProtocol::Grpc, sink.url())]);
        let status = until_status(&destinations, |status| status.lag_bytes == 0).await;
        assert_eq!(sink.spans(), ["first", "0", "1", "2"]);
        assert_eq!(status.signals[0].refused_records, bad as u64);
        let body = |line: &serde_json::Value| STANDARD.decode(line["body"].as_str().unwrap());
        let refused = node.refused("hub");
        let aside = refused.iter().flat_map(|line| spans(&body(line).unwrap()));
        let expected = (0..bad).map(|number| format!("bad {number}"));
        assert_eq!(aside.collect::<Vec<_>>(), expected.collect::<Vec<_>>(), "in order");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_signals_that_a_server_does_not_take_do_not_hold_up_the_third() {
    let node = Node::new();
    let sink = Sink::new(|received| match received.path.as_str() {
        "/v1/traces" => Reply::Taken,
        _ => Reply::Http(404, None),
    })
    .await;
    for signal in [Signal::Logs, Signal::Metrics] {
        node.append_as("default", signal, Format::OtlpProtobuf, Compression::None, vec![0x0a, 0]);
    }
    node.append_numbers(0..3);
    let destinations = node.start(&[to(DestinationProtocol::Http, sink.url())]);
    let status = until_status(&destinations, |status| status.lag_bytes == 0).await;
    assert_eq!(sink.spans(), numbers(0..3));
    assert_eq!(status.signals.iter().map(|s| s.refused_records).collect::<Vec<_>>(), [0, 1, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_of_http_with_200_is_success_as_its_status_says() {
    let node = Node::new();
    let sink = Sink::new(|_| Reply::Garbage).await;
    node.append_numbers(0..1);
    let destinations = node.start(&[to(DestinationProtocol::Http, sink.url())]);
    let status = until_status(&destinations, |status| status.lag_bytes == 0).await;
    assert_eq!((status.signals[0].sent_records, status.retries), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_yes_of_http_counts_although_the_rest_of_the_answer_never_comes() {
    let node = Node::new();
    let sink = Sink::new(|_| Reply::Stalled).await;
    node.append_numbers(0..1);
    let mut settings = to(DestinationProtocol::Http, sink.url());
    settings.timeout = Duration::from_secs(2);
    let destinations = node.start(&[settings]);
    let status = until_status(&destinations, |status| status.lag_bytes == 0).await;
    assert_eq!(status.signals[0].sent_records, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_refused_record_of_a_joined_request_is_set_aside() {
    let node = Node::new();
    let sink = Sink::new(|received| match spans(&received.body).contains(&"7".to_owned()) {
        true => Reply::Grpc(3),
        false => Reply::Taken,
    })
    .await;
    node.append_numbers(0..20);
    let destinations = node.start(&[to(DestinationProtocol::Grpc, sink.url())]);
    let status = until_status(&destinations, |status| status.lag_bytes == 0).await;
    let expected: Vec<String> = numbers(0..20).into_iter().filter(|name| name != "7").collect();
    assert_eq!(sink.spans(), expected);
    assert_eq!(status.signals[0].refused_records, 1);
    assert_eq!(status.signals[0].sent_records, 19);
    let refused = node.refused("hub");
    assert_eq!(refused.len(), 1);
    assert!(refused[0]["why"].as_str().unwrap().contains("code 3"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_nobody_knows_is_asked_for_again() {
    let node = Node::new();
    node.append_numbers(0..1);
    let endpoint = "http://no-such-host.invalid:4317".to_owned();
    let destinations = node.start(&[to(DestinationProtocol::Grpc, endpoint)]);
    let status = until_status(&destinations, |status| status.retries > 0).await;
    assert!(status.lag_bytes > 0 && node.refused("hub").is_empty(), "{status:?}");
    destinations.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_repeats_our_credentials_does_not_bring_them_into_messages() {
    let node = Node::new();
    let sink = Sink::new(|received| {
        let header = |name: &str| received.headers[name].to_str().unwrap().to_owned();
        let said = format!("no equal sign in {} nor {}", header("authorization"), header("x-key"));
        Reply::Said(422, said)
    })
    .await;
    node.append_numbers(0..1);
    let mut settings = to(DestinationProtocol::Http, sink.url());
    settings.basic = Some(BasicSettings {
        username: "me".to_owned(),
        password: Some(kymo_yaml::Secret::new("hunter2")),
        password_file: None,
    });
    settings.headers.insert("x-key".to_owned(), kymo_yaml::Secret::new("k3y-of-ours"));
    let destinations = node.start(&[settings]);
    let status = until_status(&destinations, |status| status.lag_bytes == 0).await;
    let shown = format!("{status:?} {:?}", node.refused("hub"));
    assert!(shown.contains("no equal sign in Basic … nor …"), "{shown}");
    assert!(!shown.contains("aHVudGVy") && !shown.contains("k3y-of-ours"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_credentials_lose_nothing() {
    let node = Node::new();
    let sink = Sink::new(first(15, Reply::Http(401, None))).await;
    node.append_numbers(0..1);
    let _destinations = node.start(&[to(DestinationProtocol::Http, sink.url())]);
    sink.until(|sink| sink.taken().len() == 1).await;
    assert_eq!((sink.all().len(), node.refused("hub").len()), (16, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_that_a_server_does_not_take_does_not_hold_up_the_others() {
    let node = Node::new();
    let sink = Sink::new(|received| match received.path.as_str() {
        "/v1/logs" => Reply::Http(404, None),
        _ => Reply::Taken,
    })
    .await;
    for number in 0..3 {
        let body = [0x0a, 0].repeat(number + 1);
        let (signal, format) = (Signal::Logs, Format::OtlpProtobuf);
        node.append_as("default", signal, format, Compression::None, body);
        node.append_numbers(number..number + 1);
    }
    let destinations = node.start(&[to(DestinationProtocol::Http, sink.url())]);
    let status = until_status(&destinations, |status| status.lag_bytes == 0).await;
    assert_eq!(sink.spans(), numbers(0..3));
    assert_eq!(status.signals[2].refused_records, 3);
    assert_eq!(sink.all().len(), 3 + 11 + 1 + 1, "the second is tried once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_confused_about_everything_gets_everything_in_the_end() {
    for reply in [Reply::Garbage, Reply::Grpc(12), Reply::Http(404, None), Reply::Grpc(13)] {
        let node = Node::new();
        let sink = Sink::new(first(60, reply)).await;
        for number in 0..4 {
            node.append_numbers(number..number + 1);
            // So that they are not joined.
            let (signal, format) = (Signal::Logs, Format::OtlpProtobuf);
            let body = [0x0a, 0].repeat(number + 1);
            node.append_as("default", signal, format, Compression::None, body);
        }
        let destinations = node.start(&[to(DestinationProtocol::Grpc, sink.url())]);
        let status = until_status(&destinations, |status| status.lag_bytes == 0).await;
        let sent = status.signals.iter().map(|signal| signal.sent_records);
        assert_eq!((sent.sum::<u64>(), node.refused("hub").len()), (8, 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_away_or_busy_holds_up_nobody_and_loses_only_beyond_its_budget() {
    for reply in [Reply::Never, Reply::Http(429, Some(3600))] {
        let dir = tempfile::tempdir().unwrap();
        let options = Options { segment_bytes: 4096, ..Options::default() };
        let node = Node { journal: Some(open(dir.path(), options)), dir };
        let (sink, silent) = (Sink::taking().await, Sink::new(move |_| reply.clone()).await);
        let mut away = to(DestinationProtocol::Grpc, silent.url());
        away.name = "away".to_owned();
        away.budget = 8192;
        // Not tried a second time, however slow this machine is.
        away.timeout = Duration::from_secs(3600);
        away.signals = Some(vec![SignalName::Traces]);
        let destinations = node.start(&[away, to(DestinationProtocol::Grpc, sink.url())]);
        for number in 0..50 {
            let (signal, format) = (Signal::Logs, Format::OtlpProtobuf);
            let body = [0x0a, 0].repeat(number + 1);
            node.append_as("default", signal, format, Compression::None, body);
            node.append_numbers(number * 10..(number + 1) * 10);
        }
        sink.until(|sink| sink.spans().len() == 500).await;
        assert_eq!(sink.spans(), numbers(0..500));
        let lost = until_status(&destinations, |status| status.signals[0].lost_records > 0).await;
        assert_eq!(lost.name, "away");
        assert!(lost.signals[0].lost_bytes > 0 && lost.lag_bytes <= 8192 + 4096, "{lost:?}");
        assert_eq!(lost.signals[2].lost_records, 0, "logs do not go there");
        silent.until(|sink| !sink.all().is_empty()).await;
        assert_eq!((silent.all().len(), node.refused("away").len()), (1, 0));
        let began = Instant::now();
        destinations.stop().await;
        assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    }
}
