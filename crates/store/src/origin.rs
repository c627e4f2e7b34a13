//! Origins: where rows come from. Resource and scope of a group of rows, with
//! their schema URLs, encoded once and referred to by number.
//!
//! Encoded as a protobuf message of four optional fields: 1 the `Resource`
//! message as it came, 2 the resource group's schema URL, 3 the
//! `InstrumentationScope` message as it came, 4 the scope group's schema URL.

use kymo_wire::{
    AnyValueView, KeyValueView, Repeated, ResourceGroupView, ResourceView, ScopeGroupView,
    ScopeView, View,
};

use crate::pages::{read_varint, write_varint};

/// An origin, taken apart.
#[derive(Debug, Clone, Copy, Default)]
pub struct Origin<'a> {
    /// The encoded `Resource`, if one was sent.
    pub resource: Option<&'a [u8]>,
    /// Schema URL of the resource group.
    pub resource_schema_url: &'a [u8],
    /// The encoded `InstrumentationScope`, if one was sent.
    pub scope: Option<&'a [u8]>,
    /// Schema URL of the scope group.
    pub scope_schema_url: &'a [u8],
}

impl<'a> Origin<'a> {
    /// Of the records in a scope of a resource.
    pub fn of<T>(group: &ResourceGroupView<'a, T>, scope: &ScopeGroupView<'a, T>) -> Self {
        Self {
            resource: group.resource.map(|r| r.raw),
            resource_schema_url: group.schema_url,
            scope: scope.scope.map(|s| s.raw),
            scope_schema_url: scope.schema_url,
        }
    }

    /// Appends the encoded form.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut field = |number: u8, bytes: &[u8]| {
            out.push(number << 3 | 2);
            write_varint(bytes.len() as u64, out);
            out.extend_from_slice(bytes);
        };
        if let Some(resource) = self.resource {
            field(1, resource);
        }
        if !self.resource_schema_url.is_empty() {
            field(2, self.resource_schema_url);
        }
        if let Some(scope) = self.scope {
            field(3, scope);
        }
        if !self.scope_schema_url.is_empty() {
            field(4, self.scope_schema_url);
        }
    }

    /// Takes an encoded origin apart; what is damaged is taken as absent.
    pub fn decode(encoded: &'a [u8]) -> Self {
        let mut origin = Self::default();
        let mut at = 0;
        while at < encoded.len() {
            let tag = encoded[at];
            at += 1;
            let Ok(length) = read_varint(encoded, &mut at) else { break };
            let Some(bytes) = at.checked_add(length as usize).and_then(|end| encoded.get(at..end))
            else {
                break;
            };
            at += length as usize;
            match tag >> 3 {
                1 => origin.resource = Some(bytes),
                2 => origin.resource_schema_url = bytes,
                3 => origin.scope = Some(bytes),
                4 => origin.scope_schema_url = bytes,
                _ => {}
            }
        }
        origin
    }

    /// Attributes of the resource.
    pub fn resource_attributes(&self) -> Option<Repeated<'a, KeyValueView<'a>>> {
        Some(ResourceView::parse(self.resource?).ok()?.attributes)
    }

    /// The scope.
    pub fn scope_view(&self) -> Option<ScopeView<'a>> {
        ScopeView::parse(self.scope?).ok()
    }

    /// The value of a resource attribute.
    pub fn resource_attribute(&self, key: &[u8]) -> Option<AnyValueView<'a>> {
        let attributes = self.resource_attributes()?;
        attributes.iter().flatten().find(|a| a.key == key).map(|a| a.value)
    }

    /// The service's name, if it is a text.
    pub fn service_name(&self) -> Option<&'a [u8]> {
        match self.resource_attribute(b"service.name") {
            Some(AnyValueView::String(name)) => Some(name),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_comes_back() {
        let origin = Origin {
            resource: Some(b"r"),
            resource_schema_url: b"",
            scope: None,
            scope_schema_url: b"https://example.com/schema",
        };
        let mut encoded = Vec::new();
        origin.encode(&mut encoded);
        let back = Origin::decode(&encoded);
        assert_eq!(back.resource, Some(&b"r"[..]));
        assert_eq!(back.scope, None);
        assert_eq!(back.scope_schema_url, b"https://example.com/schema");
        for end in 0..encoded.len() {
            Origin::decode(&encoded[..end]);
        }
    }
}
