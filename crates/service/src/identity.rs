//! What a process says it is: the resource of its telemetry.

use opentelemetry::{Key, KeyValue};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator};

use crate::config::Config;

/// The resource: what the SDK and the environment say, what is missing of host, process and
/// instance, and what the configuration says, which wins.
pub(crate) fn resource(config: &Config) -> Resource {
    let base = Resource::builder().build();
    let mut attributes = Vec::new();
    let mut add_missing = |key: &'static str, value: Option<KeyValue>| {
        if base.get_ref(&Key::from_static_str(key)).is_none() {
            attributes.extend(value);
        }
    };
    add_missing("host.name", host_name().map(|name| KeyValue::new("host.name", name)));
    let pid = KeyValue::new("process.pid", i64::from(std::process::id()));
    add_missing("process.pid", Some(pid));
    let instance = KeyValue::new("service.instance.id", instance_id());
    add_missing("service.instance.id", Some(instance));
    if let Some(name) = &config.service_name {
        attributes.push(KeyValue::new("service.name", name.clone()));
    }
    let given = config.resource_attributes.iter();
    attributes.extend(given.map(|(key, value)| KeyValue::new(key.clone(), value.clone())));
    Resource::builder().with_attributes(attributes).build()
}

/// The service's name, which every resource has.
pub(crate) fn service_name(resource: &Resource) -> String {
    let name = resource.get_ref(&Key::from_static_str("service.name"));
    name.map(ToString::to_string).unwrap_or_default()
}

fn host_name() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

/// A random UUID: tells the processes of a service apart.
fn instance_id() -> String {
    let random = RandomIdGenerator::default().new_trace_id().to_bytes();
    let mut bytes = random;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_wins_and_what_is_missing_is_added() {
        let config = Config::enabled("named").with_resource_attribute("team", "blue");
        let found = resource(&config);
        assert_eq!(service_name(&found), "named");
        for key in ["team", "host.name", "process.pid", "service.instance.id", "telemetry.sdk.name"]
        {
            assert!(found.get(&Key::from(key)).is_some(), "{key}");
        }
        let config = config.with_resource_attribute("service.name", "other");
        assert_eq!(service_name(&resource(&config)), "other");
    }

    #[test]
    fn an_instance_is_a_uuid_of_its_own() {
        let id = instance_id();
        assert_eq!((id.len(), &id[14..15]), (36, "4"));
        assert_ne!(id, instance_id());
    }
}
