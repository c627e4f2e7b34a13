//! Which series of a collector have ended: those that an earlier run of it had and this one lacks.
//!
//! Only runs are compared. A collector that is not asked in a round has the series it had.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasher, RandomState};

use crate::model::{Family, Sample, Series};

/// The series that a collector's last run had.
#[derive(Debug, Default)]
pub(crate) struct LiveSeries {
    /// Counts runs.
    run: u64,
    /// By a hash of name and labels, as looking up a series must not cost a copy of it.
    series: HashMap<u64, Live>,
    hashes: RandomState,
}

#[derive(Debug)]
struct Live {
    series: Series,
    /// The run that had it last.
    run: u64,
}

impl LiveSeries {
    /// Notes what a run found, and adds what is gone since to `ended`.
    pub(crate) fn update(&mut self, families: &[Family], ended: &mut Vec<Series>) {
        self.run += 1;
        let mut found = 0;
        for family in families {
            let name_hash = self.hashes.hash_one(&family.name);
            for sample in &family.samples {
                found += usize::from(self.note(family, name_hash, sample));
            }
        }
        if found == self.series.len() {
            return;
        }
        let run = self.run;
        let gone = self.series.extract_if(|_, live| live.run != run);
        ended.extend(gone.map(|(_, live)| live.series));
    }

    /// Whether this run had not noted the series yet.
    fn note(&mut self, family: &Family, name_hash: u64, sample: &Sample) -> bool {
        let hash = self.hashes.hash_one((name_hash, &sample.labels));
        match self.series.entry(hash) {
            Entry::Occupied(mut known) => {
                std::mem::replace(&mut known.get_mut().run, self.run) != self.run
            }
            Entry::Vacant(place) => {
                let series = Series { name: family.name.clone(), labels: sample.labels.clone() };
                place.insert(Live { series, run: self.run });
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Builder, Metric};

    const BYTES: Metric = Metric::counter("bytes_total", "Bytes.");
    const LOAD: Metric = Metric::gauge("load", "Load.");

    fn devices(names: &[&str]) -> Vec<Family> {
        let mut builder = Builder::new();
        builder.value(&LOAD, 0.5);
        names.iter().for_each(|name| builder.with(&BYTES, &[("device", name)], 1.0));
        builder.finish().families
    }

    #[test]
    fn a_series_that_a_run_lacks_ends_once_and_may_come_back() {
        let (mut live, mut ended) = (LiveSeries::default(), Vec::new());
        live.update(&devices(&["a", "b"]), &mut ended);
        live.update(&devices(&["b", "a"]), &mut ended);
        assert_eq!(ended, [], "another order is no end");
        live.update(&devices(&["b", "c"]), &mut ended);
        let gone = Series { name: "bytes_total".into(), labels: vec![("device", "a".to_owned())] };
        assert_eq!(ended.as_slice(), std::slice::from_ref(&gone));
        live.update(&devices(&["b", "c"]), &mut ended);
        live.update(&devices(&["a", "b", "c"]), &mut ended);
        assert_eq!(ended.len(), 1, "told once");
        live.update(&devices(&["b", "c", "c"]), &mut ended);
        assert_eq!(ended, [gone.clone(), gone], "one that came twice counts once");
        live.update(&[], &mut ended);
        assert_eq!(ended.len(), 5, "all of a collector that finds nothing end");
    }
}
