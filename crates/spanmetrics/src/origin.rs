//! Resources that spans come from: read once, and known again by their bytes.
//!
//! A request has spans by resource, often few of each, and the same resources come with every
//! request. To read one takes as long as to count several spans, to find it again a fraction of that.

use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::HashMap;
use kymo_wire::{KeyValueView, Repeated, ResourceView};

use crate::dimensions::{Dimensions, push_value};
use crate::labels::{INSTANCE_LABELS, LabelWriter, cut, plain_name, value_text};
use crate::limits::{MAX_KNOWN_RESOURCE_BYTES, MAX_KNOWN_RESOURCES, MAX_TARGET_LABELS};

/// Attributes that say which service a resource is, and which instance of it.
const IDENTITY: [&[u8]; 3] = [b"service.name", b"service.namespace", b"service.instance.id"];

/// What all spans of a resource share.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) service: Arc<[u8]>,
    /// Empty unless resources are told as targets, as is the instance.
    pub(crate) job: Box<[u8]>,
    pub(crate) instance: Box<[u8]>,
    /// What keys of series of its spans begin with.
    pub(crate) key: Box<[u8]>,
    /// What it gives for dimensions of spans, and of the graph.
    pub(crate) of_spans: Box<[Box<[u8]>]>,
    pub(crate) of_graph: Box<[Box<[u8]>]>,
    /// Labels of the resource as a target, if it is told and there is something to tell.
    pub(crate) target: Option<Box<[u8]>>,
}

/// Resources that have come.
#[derive(Debug)]
pub(crate) struct Origins {
    known: HashMap<Box<[u8]>, Arc<Origin>>,
    has_targets: bool,
}

impl Origins {
    /// None yet; with `has_targets`, each is told as a target.
    pub(crate) fn new(has_targets: bool) -> Self {
        Self { known: HashMap::new(), has_targets }
    }

    /// What is known of a resource, given the dimensions of spans and of the graph.
    pub(crate) fn of(
        &mut self,
        resource: Option<ResourceView<'_>>,
        dimensions: [&Dimensions; 2],
    ) -> Arc<Origin> {
        let raw = resource.map_or(&[][..], |resource| resource.raw);
        if raw.len() > MAX_KNOWN_RESOURCE_BYTES {
            return Arc::new(self.read(resource, dimensions));
        }
        if let Some(known) = self.known.get(raw) {
            return Arc::clone(known);
        }
        let origin = Arc::new(self.read(resource, dimensions));
        // Those that still come are soon there again.
        if self.known.len() >= MAX_KNOWN_RESOURCES {
            self.known.clear();
        }
        self.known.insert(raw.into(), Arc::clone(&origin));
        origin
    }

    fn read(&self, resource: Option<ResourceView<'_>>, dimensions: [&Dimensions; 2]) -> Origin {
        let attributes = resource.map(|resource| resource.attributes);
        let mut identity: [Vec<u8>; IDENTITY.len()] = Default::default();
        for entry in entries(attributes) {
            if let Some(nth) = IDENTITY.iter().position(|key| *key == entry.key) {
                identity[nth] = cut(&value_text(&entry.value)).to_vec();
            }
        }
        let [name, namespace, instance] = identity;
        let service: Arc<[u8]> = Arc::from(&*name);
        let mut key = Vec::new();
        push_value(&service, &mut key);
        let (mut job, mut told_instance, mut target) = (Vec::new(), Vec::new(), None);
        if self.has_targets {
            job = match (namespace.is_empty(), name.is_empty()) {
                (false, false) => [&namespace[..], b"/", &name].concat(),
                _ => name,
            };
            told_instance = instance;
            push_value(&job, &mut key);
            push_value(&told_instance, &mut key);
            target = target_labels(&job, &told_instance, attributes);
        }
        let [of_spans, of_graph] = dimensions.map(|dimensions| {
            let values = dimensions.of_resource(attributes);
            values.iter().map(|value| cut(value).into()).collect()
        });
        let (job, instance, key) = (job.into(), told_instance.into(), key.into());
        Origin { service, job, instance, key, of_spans, of_graph, target }
    }
}

/// Labels of a target; none if it has no name, or nothing to tell beside it.
fn target_labels(
    job: &[u8],
    instance: &[u8],
    attributes: Option<Repeated<'_, KeyValueView<'_>>>,
) -> Option<Box<[u8]>> {
    // By name, so that the order in which attributes come makes no other series.
    let mut told: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for entry in entries(attributes) {
        let value = value_text(&entry.value);
        let is_identity = IDENTITY.contains(&entry.key);
        if entry.key.is_empty() || is_identity || value.is_empty() {
            continue;
        }
        if told.len() == MAX_TARGET_LABELS {
            break;
        }
        let mut name = plain_name(&kymo_wire::text(cut(entry.key)));
        if ["job", "instance"].contains(&&*name) || INSTANCE_LABELS.contains(&&*name) {
            name.insert_str(0, "__");
        }
        // Two names may be one as labels.
        told.entry(name).or_insert_with(|| cut(&value).to_vec());
    }
    let has_name = !job.is_empty() || !instance.is_empty();
    if told.is_empty() || !has_name {
        return None;
    }
    let mut labels = LabelWriter::default();
    labels.add(b"job", job);
    labels.add(b"instance", instance);
    told.iter().for_each(|(name, value)| labels.add(name.as_bytes(), value));
    Some(labels.finish())
}

fn entries<'a>(
    attributes: Option<Repeated<'a, KeyValueView<'a>>>,
) -> impl Iterator<Item = KeyValueView<'a>> {
    attributes.into_iter().flatten().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;
    use kymo_wire::encode::Writer;
    use kymo_wire::{AnyValueView, View};

    fn resource(attributes: &[(&str, &str)]) -> Vec<u8> {
        let mut w = Writer::new();
        for (key, value) in attributes {
            w.resource_attribute(key.as_bytes(), &AnyValueView::String(value.as_bytes()));
        }
        w.into_bytes()
    }

    fn of(origins: &mut Origins, raw: &[u8]) -> Arc<Origin> {
        let settings = Settings::default();
        let dimensions = [&Dimensions::of_spans(&settings), &Dimensions::of_graph(&settings)];
        origins.of(Some(ResourceView::parse(raw).unwrap()), dimensions)
    }

    #[test]
    fn a_resource_is_read_once_and_those_that_are_known_are_bounded() {
        let mut origins = Origins::new(false);
        let shop = resource(&[("service.name", "shop"), ("host.name", "a")]);
        let first = of(&mut origins, &shop);
        assert_eq!(&*first.service, b"shop");
        assert!(Arc::ptr_eq(&first, &of(&mut origins, &shop)));
        for nth in 0..3 * MAX_KNOWN_RESOURCES {
            let other = resource(&[("service.name", &format!("job {nth}"))]);
            assert_eq!(*of(&mut origins, &other).service, *format!("job {nth}").as_bytes());
            assert!(origins.known.len() <= MAX_KNOWN_RESOURCES);
        }
        let long = resource(&[("service.name", "x"), ("args", &"a".repeat(1 << 20))]);
        assert!(!Arc::ptr_eq(&of(&mut origins, &long), &of(&mut origins, &long)));
    }

    #[test]
    fn a_target_is_the_same_in_any_order_and_has_a_bounded_number_of_labels() {
        let mut origins = Origins::new(true);
        let one = resource(&[("service.name", "shop"), ("a.b", "1"), ("c", "2")]);
        let two = resource(&[("c", "2"), ("service.name", "shop"), ("a.b", "1")]);
        let target = of(&mut origins, &one).target.clone();
        assert!(target.is_some());
        assert_eq!(target, of(&mut origins, &two).target);
        assert_eq!(of(&mut origins, &resource(&[("c", "2")])).target, None, "it has no name");
        assert_eq!(of(&mut origins, &resource(&[("service.name", "x")])).target, None);
        let names: Vec<String> = (0..2 * MAX_TARGET_LABELS).map(|nth| format!("n{nth}")).collect();
        let mut many: Vec<(&str, &str)> = names.iter().map(|name| (&**name, "v")).collect();
        many.push(("service.name", "shop"));
        let labels = of(&mut origins, &resource(&many)).target.clone().unwrap();
        assert_eq!(kymo_wire::kvlist_entries(&labels).count(), MAX_TARGET_LABELS + 1);
    }
}
