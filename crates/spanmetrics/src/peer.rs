//! Who a client's span says that it called: a service, a database, a queue.

use std::borrow::Cow;

use kymo_wire::KeyValueView;

use crate::dimensions::Wanted;
use crate::labels::value_text;

/// What an attribute says beside a name of the list.
#[derive(Debug, Clone, Copy)]
enum Part {
    Service,
    Address,
    NetworkAddress,
    NetworkPort,
    Database,
    /// That it is a database, and nothing else.
    System,
}

const PARTS: [(&[u8], Part); 8] = [
    (b"peer.service", Part::Service),
    (b"server.address", Part::Address),
    (b"network.peer.address", Part::NetworkAddress),
    (b"network.peer.port", Part::NetworkPort),
    (b"db.name", Part::Database),
    (b"db.namespace", Part::Database),
    (b"db.system", Part::System),
    (b"db.system.name", Part::System),
];

/// What attributes of a client's span say about the other side.
#[derive(Debug, Default)]
pub(crate) struct Peer<'a> {
    /// By the first of the attributes that name peers, and its place among them.
    named: Option<(usize, Cow<'a, [u8]>)>,
    is_database: bool,
    service: Cow<'a, [u8]>,
    address: Cow<'a, [u8]>,
    network_address: Cow<'a, [u8]>,
    network_port: Cow<'a, [u8]>,
    database: Cow<'a, [u8]>,
}

impl<'a> Peer<'a> {
    /// What is looked for, with the attributes that name peers.
    pub(crate) fn wanted(peer_keys: &[Box<[u8]>]) -> Wanted {
        let named = peer_keys.iter().map(|key| &**key);
        Wanted::of(named.chain(PARTS.iter().map(|(key, _)| *key)))
    }

    /// Takes what one attribute says.
    pub(crate) fn take(&mut self, entry: &KeyValueView<'a>, peer_keys: &[Box<[u8]>]) {
        let place = peer_keys.iter().position(|key| **key == *entry.key);
        if let Some(place) =
            place.filter(|place| self.named.as_ref().is_none_or(|it| *place < it.0))
        {
            let name = value_text(&entry.value);
            if !name.is_empty() {
                self.named = Some((place, name));
            }
        }
        let part = PARTS.iter().find(|(key, _)| *key == entry.key).map(|(_, part)| *part);
        let Some(part) = part else { return };
        self.is_database |= matches!(part, Part::Database | Part::System);
        let field = match part {
            Part::Service => &mut self.service,
            Part::Address => &mut self.address,
            Part::NetworkAddress => &mut self.network_address,
            Part::NetworkPort => &mut self.network_port,
            Part::Database => &mut self.database,
            Part::System => return,
        };
        *field = value_text(&entry.value);
    }

    /// The name of a database that was called, which sends no spans: as its service, host or address
    /// is called, else as it is called itself.
    pub(crate) fn database(&self) -> Option<Cow<'_, [u8]>> {
        if !self.is_database {
            return None;
        }
        for name in [&self.service, &self.address] {
            if !name.is_empty() {
                return Some(Cow::Borrowed(&**name));
            }
        }
        let name = match (self.network_address.is_empty(), self.network_port.is_empty()) {
            (false, false) => {
                Cow::Owned([&self.network_address[..], b":", &self.network_port].concat())
            }
            (false, true) => Cow::Borrowed(&*self.network_address),
            (true, _) => Cow::Borrowed(&*self.database),
        };
        Some(name).filter(|name| !name.is_empty())
    }

    /// Who it is if the other side never sends a span.
    pub(crate) fn name(&self) -> Option<&[u8]> {
        self.named.as_ref().map(|(_, name)| &**name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kymo_wire::AnyValueView;

    fn peer<'a>(attributes: &[(&'a str, &'a str)]) -> Peer<'a> {
        let keys: Vec<Box<[u8]>> =
            ["peer.service", "db.name", "db.system"].map(|key| key.as_bytes().into()).to_vec();
        let mut peer = Peer::default();
        for (key, value) in attributes {
            let value = AnyValueView::String(value.as_bytes());
            let entry = KeyValueView { key: key.as_bytes(), value, ..KeyValueView::default() };
            peer.take(&entry, &keys);
        }
        peer
    }

    #[test]
    fn a_database_is_called_by_the_best_name_there_is() {
        let all = [
            ("db.name", "orders"),
            ("network.peer.port", "5432"),
            ("network.peer.address", "10.0.0.7"),
            ("server.address", "pg.internal"),
            ("peer.service", "orders-db"),
        ];
        let names = ["orders", "orders", "10.0.0.7:5432", "pg.internal", "orders-db"];
        for (count, expected) in names.into_iter().enumerate() {
            let peer = peer(&all[..=count]);
            assert_eq!(peer.database().as_deref(), Some(expected.as_bytes()));
        }
        assert_eq!(peer(&[("db.system", "postgresql")]).database(), None);
        assert_eq!(peer(&[("server.address", "x")]).database(), None, "not a database");
    }

    #[test]
    fn a_peer_is_named_by_the_first_attribute_of_the_list() {
        let both = peer(&[("db.system", "redis"), ("peer.service", "cache")]);
        assert_eq!(both.name(), Some(&b"cache"[..]));
        assert_eq!(peer(&[("db.system", "redis")]).name(), Some(&b"redis"[..]));
        assert_eq!(peer(&[("peer.service", "")]).name(), None);
    }
}
