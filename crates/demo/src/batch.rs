//! Records on their way into requests: spans, log records and points, by resource.

use kymo_wire::Signal;
use kymo_wire::encode::Writer;

use crate::Request;
use crate::limits::REQUEST_BYTES;
use crate::record::{Log, Resource, Span};

/// What was told since the last call.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    groups: Vec<Group>,
    /// Requests that somebody else has encoded.
    whole: Vec<Request>,
}

/// Records of one signal that share resource and scope.
#[derive(Debug)]
struct Group {
    signal: Signal,
    resource: Resource,
    scope: &'static str,
    items: Writer,
}

impl Batch {
    pub(crate) fn span(&mut self, resource: &Resource, scope: &'static str, span: &Span) {
        span.write(self.items(Signal::Traces, resource, scope));
    }

    pub(crate) fn log(&mut self, resource: &Resource, scope: &'static str, log: &Log) {
        log.write(self.items(Signal::Logs, resource, scope));
    }

    /// Where metrics of a resource are written.
    pub(crate) fn metrics(&mut self, resource: &Resource, scope: &'static str) -> &mut Writer {
        self.items(Signal::Metrics, resource, scope)
    }

    /// Adds a request as it is.
    pub(crate) fn request(&mut self, signal: Signal, body: Vec<u8>) {
        self.whole.push(Request { signal, body });
    }

    fn items(&mut self, signal: Signal, resource: &Resource, scope: &'static str) -> &mut Writer {
        let is_same = |group: &Group| {
            group.signal == signal && group.scope == scope && group.resource.is(resource)
        };
        // There are a few dozen of them.
        let nth = self.groups.iter().position(is_same).unwrap_or_else(|| {
            let resource = resource.clone();
            self.groups.push(Group { signal, resource, scope, items: Writer::new() });
            self.groups.len() - 1
        });
        &mut self.groups[nth].items
    }

    /// The requests, by signal, none much larger than servers take.
    pub(crate) fn finish(self) -> Vec<Request> {
        let mut requests = self.whole;
        for signal in Signal::ALL {
            let mut writer = Writer::new();
            for group in self.groups.iter().filter(|group| group.signal == signal) {
                group.write(&mut writer);
                if writer.as_slice().len() >= REQUEST_BYTES {
                    let body = std::mem::take(&mut writer).into_bytes();
                    requests.push(Request { signal, body });
                }
            }
            if !writer.as_slice().is_empty() {
                requests.push(Request { signal, body: writer.into_bytes() });
            }
        }
        requests
    }
}

impl Group {
    fn write(&self, writer: &mut Writer) {
        writer.resource_group(|w| {
            w.resource_raw(self.resource.bytes());
            w.scope_group(|w| {
                w.scope(self.scope.as_bytes(), b"", |_| ());
                w.raw(self.items.as_slice());
            });
        });
    }
}
