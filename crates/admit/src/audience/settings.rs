//! What a configuration says of the audience: how a new flag starts.

use serde::Deserialize;

use super::flag::{FlagError, Unknown, check_attributes};

/// The key `audience` of the configuration. It fills in what the creator of a flag leaves open;
/// flags that exist already are not touched.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AudienceSettings {
    /// The attributes that name users, those that count most first.
    pub attributes: Vec<String>,
    /// Whether records of unknown users are kept.
    pub unknown: Unknown,
}

impl Default for AudienceSettings {
    fn default() -> Self {
        Self {
            attributes: ["user.id", "enduser.id"].map(str::to_owned).to_vec(),
            unknown: Unknown::Nobody,
        }
    }
}

impl AudienceSettings {
    /// Whether flags can start like this.
    pub fn check(&self) -> Result<(), FlagError> {
        check_attributes(&self.attributes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_has_a_default_and_what_is_not_known_is_refused() {
        let read = serde_json::from_str::<AudienceSettings>;
        assert_eq!(read("{}").unwrap(), AudienceSettings::default());
        let open = read(r#"{"unknown": "everybody", "attributes": ["sub"]}"#).unwrap();
        assert_eq!((open.unknown, open.attributes.len()), (Unknown::Everybody, 1));
        assert!(read(r#"{"unknwon": "everybody"}"#).is_err());
        let none = AudienceSettings { attributes: Vec::new(), ..AudienceSettings::default() };
        assert!(none.check().is_err());
    }
}
