//! Values with units, and those that nobody should see: helpers for fields of settings.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error};

macro_rules! with_unit {
    ($module:ident, $type:ty, $read:path, $expected:literal, $what:literal) => {
        #[doc = concat!("`#[serde(with = …)]` for ", $what, ".")]
        pub mod $module {
            use super::*;

            /// Reads it.
            ///
            /// # Errors
            /// It is written in another way.
            pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<$type, D::Error> {
                let text = String::deserialize(from)?;
                $read(&text).ok_or_else(|| {
                    let text = crate::printable(&text);
                    D::Error::custom(format!("{text:?} is not it: expected {}", $expected))
                })
            }

            #[doc = concat!("`#[serde(default, with = …)]` for ", $what, " that may be missing.")]
            pub mod option {
                use super::*;

                /// Reads it; `none` is nothing.
                ///
                /// # Errors
                /// It is written in another way.
                pub fn deserialize<'de, D: Deserializer<'de>>(
                    from: D,
                ) -> Result<Option<$type>, D::Error> {
                    let Some(text) = Option::<String>::deserialize(from)? else { return Ok(None) };
                    if text.trim() == "none" {
                        return Ok(None);
                    }
                    $read(&text).map(Some).ok_or_else(|| {
                        let text = crate::printable(&text);
                        D::Error::custom(format!("{text:?} is not it: expected {}", $expected))
                    })
                }
            }
        }
    };
}

with_unit!(
    duration,
    std::time::Duration,
    crate::amounts::duration,
    "a duration with its unit, such as 500ms, 10m or 1h30m",
    "a duration such as `1h30m`"
);
with_unit!(
    size,
    u64,
    crate::amounts::size,
    "a size with its unit, such as 128MiB or 1GiB",
    "a number of bytes such as `10GiB`"
);

/// A text that is not to be seen in logs or errors.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Hides a text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        // The error of a text that is none would quote it.
        String::deserialize(from).map(Self).map_err(|_| D::Error::custom("expected a text"))
    }
}
