//! Damaged rows and files: an error or a count, never a panic.

use std::sync::Arc;

use kymo_store::block::read::Block;
use kymo_store::block::source::Source;
use kymo_store::column::{Column, Dict, Rows, Values};
use kymo_store::schema::Signal;
use kymo_store::series::head::SeriesHead;
use kymo_store::series::merge::merge;
use kymo_store::series::select::select;
use kymo_store::tables::order::order;
use kymo_store::tables::series::field;

use super::generate::World;
use super::random::Random;
use super::support::{Blocks, all, append, drain, for_seeds};

fn some_chunks(seed: u64) -> Vec<Source> {
    let mut world = World::new(seed);
    let mut head = SeriesHead::new();
    for sequence in 0..4 {
        append(&mut head, &world.request(40), sequence);
    }
    drain(&mut head)
}

fn damage(r: &mut Random, bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    match r.below(3) {
        0 => bytes.truncate(r.below(bytes.len() as u64 + 1) as usize),
        1 => bytes.push(r.next() as u8),
        _ if bytes.is_empty() => {}
        _ => {
            for _ in 0..1 + r.below(3) {
                let at = r.below(bytes.len() as u64) as usize;
                bytes[at] = r.next() as u8;
            }
        }
    }
    bytes
}

#[test]
fn damaged_blobs_of_a_found_series_give_errors() {
    for_seeds(100, |seed| {
        let mut random = Random::new(seed);
        let r = &mut random;
        let mut errors = 0;
        for mut series in all(&some_chunks(seed)) {
            for chunk in &mut series.chunks {
                let blob = match r.below(3) {
                    0 => &mut chunk.times,
                    1 => &mut chunk.values,
                    _ => &mut chunk.exemplars,
                };
                *blob = damage(r, blob).into();
            }
            errors += usize::from(series.points().is_err());
            errors += usize::from(series.numbers_f64().is_err());
            errors += usize::from(kymo_store::series::otlp::encode(&[series]).is_err());
        }
        println!("{errors} errors");
    });
}

#[test]
fn joining_damaged_rows_gives_an_error() {
    let mut errors = 0;
    for seed in 0..100 {
        let mut random = Random::new(seed);
        let mut sources = some_chunks(seed);
        let Some(Source::Chunk(chunk)) = sources.first() else { continue };
        let mut chunk = (**chunk).clone();
        let which = *random.pick(&[field::TIMES, field::VALUES]);
        let Some(Column { values: Values::Bytes(codes, dict), .. }) = &chunk.fields[which] else {
            panic!("no blobs")
        };
        let mut damaged = Dict::default();
        for blob in dict.iter() {
            damaged.push(&damage(&mut random, blob));
        }
        let values = Values::Bytes(codes.clone(), Arc::new(damaged));
        chunk.fields[which] = Some(Column { rows: Rows::All, values });
        sources.push(Source::Chunk(Arc::new(chunk)));
        for day in order(Signal::Series, &sources, |_| true).unwrap() {
            errors += usize::from(merge(&sources, &day.rows).is_err());
        }
    }
    assert!(errors > 50, "{errors} errors");
}

#[test]
fn a_damaged_block_is_left_out_of_a_query_and_counted() {
    let store = Blocks::new();
    let good = some_chunks(1);
    let mut damaged_blocks = 0;
    for seed in 0..40 {
        let mut random = Random::new(seed);
        for written in store.write(&some_chunks(seed)) {
            let Source::Block(block) = &written else { panic!("not a block") };
            let path = store.directory.path().join(block.path());
            let mut bytes = std::fs::read(&path).unwrap();
            let at = random.below(bytes.len() as u64 / 2) as usize;
            bytes[at] ^= 1 << random.below(8);
            std::fs::write(&path, bytes).unwrap();
            let sources: Vec<Source> = good.iter().cloned().chain([written.clone()]).collect();
            let selection = select(&sources, &[], i64::MIN..=i64::MAX).unwrap();
            assert!(selection.series.len() >= all(&good).len());
            selection.series.iter().for_each(|series| drop(series.points()));
            damaged_blocks += selection.damaged_blocks;
        }
    }
    assert!(damaged_blocks > 20, "{damaged_blocks} damaged blocks");
}

#[test]
fn a_block_knows_the_last_time_of_its_rows() {
    let store = Blocks::new();
    for written in store.write(&some_chunks(2)) {
        let last = all(std::slice::from_ref(&written))
            .iter()
            .flat_map(|s| &s.chunks)
            .map(|chunk| chunk.max_time_nanos)
            .max();
        let Source::Block(block) = &written else { panic!("not a block") };
        let block: &Block = block;
        assert_eq!(Some(block.footer().max_time_nanos), last);
    }
}
