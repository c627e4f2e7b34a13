//! Everything that can go wrong, again and again, from a seed.

use std::collections::HashSet;

use super::sink::{Reply, Sink};
use super::*;

/// A generator of numbers that look random.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn reply(&mut self) -> Reply {
        match self.next() % 20 {
            0 => Reply::Http(503, None),
            1 => Reply::Http(429, None),
            2 => Reply::Grpc(14),
            3 => Reply::Garbage,
            4 => Reply::Grpc(13),
            5 => Reply::Http(401, None),
            6 => Reply::Never,
            7 | 8 => Reply::TakenInSilence,
            _ => Reply::Taken,
        }
    }
}

const PHASES: usize = 6;
const RECORDS: usize = 40;

#[tokio::test(flavor = "multi_thread")]
async fn whatever_happens_everything_arrives_in_order_at_least_once() {
    for seed in [1, 0xdead_beef, 0x1234_5678_9abc] {
        let mut random = Random(seed);
        let sink = Sink::new(move |_| random.reply()).await;
        let mut node = Node::new();
        let mut settings = to(DestinationProtocol::Grpc, sink.url());
        settings.timeout = Duration::from_millis(30);
        for phase in 0..PHASES {
            let destinations = node.start(std::slice::from_ref(&settings));
            for number in phase * RECORDS..(phase + 1) * RECORDS {
                let asked = sink.all().len();
                node.append_numbers(number..number + 1);
                if number % 8 == 0 {
                    // Some before the first answer, some after it.
                    sink.until(|sink| sink.all().len() > asked).await;
                }
            }
            node.crash(destinations);
        }
        let destinations = node.start(&[settings]);
        until_status(&destinations, |status| status.lag_bytes == 0).await;
        let mut seen = HashSet::new();
        let first_times: Vec<String> =
            sink.spans().into_iter().filter(|name| seen.insert(name.clone())).collect();
        assert_eq!(first_times, numbers(0..PHASES * RECORDS), "seed {seed}");
        assert_eq!(node.refused("hub").len(), 0, "seed {seed}");
    }
}
