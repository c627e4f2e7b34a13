//! What remote-write 1.0 says about families of metrics, apart from their series.
//!
//! It comes at intervals, for all families that a sender scrapes, whether or not series of them are
//! in the same request. The head remembers it and writes it into the rows of series that belong to a
//! family: those of its name, and those whose name is the family's with a suffix that its type has.
//!
//! It is bounded: what comes when there is no room is left out, and no row is the worse for it.

use hashbrown::HashMap;
use kymo_wire::remote_write::{MetadataType, MetadataView};

use super::remote_labels::push_text;
use crate::limits::{FAMILIES_MAX, FAMILIES_MAX_BYTES};

/// Key of a row's metadata that says what the metric is, in Prometheus' words.
pub const TYPE_KEY: &str = "prometheus.type";
/// Key of a row's metadata that says the metric's unit.
pub const UNIT_KEY: &str = "prometheus.unit";

/// What is known about a family.
#[derive(Debug)]
pub(crate) struct Family {
    metric_type: MetadataType,
    pub(crate) help: Box<[u8]>,
    /// An encoded `KeyValueList`.
    pub(crate) metadata: Box<[u8]>,
}

/// Families by name.
#[derive(Debug, Default)]
pub(crate) struct Families {
    by_name: HashMap<Box<[u8]>, Family>,
    bytes: usize,
}

impl Families {
    /// Remembers what is said; false if there is no room for it.
    pub(crate) fn remember(&mut self, view: &MetadataView<'_>) -> bool {
        let mut metadata = Vec::new();
        push_metadata(view.metric_type, view.unit, &mut metadata);
        if let Some(known) = self.by_name.get(view.family)
            && *known.help == *view.help
            && *known.metadata == *metadata
        {
            return true;
        }
        if let Some(known) = self.by_name.remove(view.family) {
            self.bytes -= size_bytes(view.family, &known.help, &known.metadata);
        }
        let more_bytes = size_bytes(view.family, view.help, &metadata);
        if self.by_name.len() >= FAMILIES_MAX || self.bytes + more_bytes > FAMILIES_MAX_BYTES {
            return false;
        }
        self.bytes += more_bytes;
        let family = Family {
            metric_type: view.metric_type,
            help: view.help.into(),
            metadata: metadata.into(),
        };
        self.by_name.insert(view.family.into(), family);
        true
    }

    /// The family that a metric belongs to.
    pub(crate) fn of(&self, name: &[u8]) -> Option<&Family> {
        if self.by_name.is_empty() {
            return None;
        }
        self.by_name.get(name).or_else(|| {
            let (family, suffix) = name.split_at(name.iter().rposition(|byte| *byte == b'_')?);
            self.by_name.get(family).filter(|family| has_suffix(family.metric_type, suffix))
        })
    }

    /// Bytes held on the heap, nearly.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.bytes + self.by_name.capacity() * size_of::<(Box<[u8]>, Family)>()
    }
}

fn size_bytes(name: &[u8], help: &[u8], metadata: &[u8]) -> usize {
    name.len() + help.len() + metadata.len()
}

/// Whether series of a family of that type have names with that suffix.
fn has_suffix(metric_type: MetadataType, suffix: &[u8]) -> bool {
    use MetadataType::{Counter, GaugeHistogram, Histogram, Info, Summary};
    match suffix {
        b"_bucket" => matches!(metric_type, Histogram | GaugeHistogram),
        b"_sum" | b"_count" => matches!(metric_type, Histogram | GaugeHistogram | Summary),
        b"_gsum" | b"_gcount" => metric_type == GaugeHistogram,
        b"_total" => metric_type == Counter,
        b"_created" => matches!(metric_type, Counter | Histogram | Summary),
        b"_info" => metric_type == Info,
        _ => false,
    }
}

/// Appends type and unit as entries of an encoded `KeyValueList`.
pub(crate) fn push_metadata(metric_type: MetadataType, unit: &[u8], out: &mut Vec<u8>) {
    push_text(TYPE_KEY.as_bytes(), metric_type.name().as_bytes(), out);
    if !unit.is_empty() {
        push_text(UNIT_KEY.as_bytes(), unit, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view<'a>(metric_type: MetadataType, family: &'a str, help: &'a str) -> MetadataView<'a> {
        let (family, help) = (family.as_bytes(), help.as_bytes());
        MetadataView { metric_type, family, help, unit: b"" }
    }

    fn help_of<'a>(families: &'a Families, name: &str) -> Option<&'a str> {
        families.of(name.as_bytes()).map(|family| str::from_utf8(&family.help).unwrap())
    }

    #[test]
    fn a_series_belongs_to_the_family_of_its_name_or_of_its_name_without_a_suffix() {
        let mut families = Families::default();
        assert!(families.remember(&view(MetadataType::Histogram, "latency", "Latency.")));
        assert!(families.remember(&view(MetadataType::Gauge, "latency_sum", "Another.")));
        assert!(families.remember(&view(MetadataType::Counter, "requests", "Requests.")));
        for (name, help) in [
            ("latency", Some("Latency.")),
            ("latency_bucket", Some("Latency.")),
            ("latency_count", Some("Latency.")),
            ("latency_sum", Some("Another.")),
            ("latency_total", None),
            ("requests_total", Some("Requests.")),
            ("requests_created", Some("Requests.")),
            ("requests_count", None),
            ("other", None),
            ("_", None),
        ] {
            assert_eq!(help_of(&families, name), help, "{name}");
        }
        assert!(families.remember(&view(MetadataType::Counter, "requests", "Newer.")));
        assert_eq!(help_of(&families, "requests_total"), Some("Newer."));
    }

    #[test]
    fn there_is_an_end_to_what_is_remembered() {
        let mut families = Families::default();
        let help = "x".repeat(FAMILIES_MAX_BYTES / 4);
        let remembered = (0..10).filter(|n| {
            families.remember(&view(MetadataType::Gauge, &format!("family{n}"), &help))
        });
        assert_eq!(remembered.count(), 3);
        assert!(families.remember(&view(MetadataType::Gauge, "family0", "short now")));
        assert!(families.remember(&view(MetadataType::Gauge, "family9", &help)));
        assert!(families.heap_bytes() < FAMILIES_MAX_BYTES + (64 << 10));
    }
}
