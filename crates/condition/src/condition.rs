//! One condition.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use kymo_wire::ResourceView;

use crate::conditions::Conditions;
use crate::error::ConditionError;
use crate::record::Record;

/// What has to be true of a record. It is cheap to clone, and may be shared between threads.
///
/// | written | of a span | of a log record | of a data point or series |
/// |---|---|---|---|
/// | `resource.x` | its resource | its resource | its resource; a series has none |
/// | `instrumentation.x`, `instrumentation:name`, `instrumentation:version` | its scope | its scope | its scope |
/// | `span.x` | its attribute | – | – |
/// | `.x` | its attribute, else its resource's, scope's, events', links' | its attribute, else its resource's, scope's | its attribute or label, else its resource's, scope's |
/// | `name` | its name | the name of the event | the name of the metric |
/// | `trace:id`, `span:id` | its ids | its ids | – |
/// | `duration`, `status`, `statusMessage`, `kind`, `span:parentID`, `event.x`, `event:name`, `event:timeSinceStart`, `link.x`, `link:traceID`, `link:spanID`, `nestedSetParent < 0` (a root) | as in a query | – | – |
///
/// What is not there makes every comparison false, `!=` too; `x = nil` holds then.
#[derive(Debug, Clone)]
pub struct Condition(Arc<Conditions>);

impl Condition {
    /// Reads what stands between the braces of a TraceQL filter, with the braces or without.
    /// Nothing, or `true`, is true of every record.
    ///
    /// # Errors
    ///
    /// It is no condition, or one that a record alone cannot answer.
    pub fn parse(text: &str) -> Result<Self, ConditionError> {
        let mut conditions = Conditions::new();
        conditions.add(text)?;
        Ok(Self(Arc::new(conditions)))
    }

    /// Whether it asks for attributes of the resource alone, so that it holds for all records of a
    /// resource or for none: see [`Condition::matches_resource`].
    #[must_use]
    pub fn is_resource_only(&self) -> bool {
        self.0.is_resource_only(0)
    }

    /// Whether it asks for something that only spans have, so that it says nothing of log records and
    /// data points.
    #[must_use]
    pub fn is_about_spans(&self) -> bool {
        self.0.is_about_spans(0)
    }

    /// Whether it holds for a record. Whoever has several conditions, or many records, reads them
    /// with [`Conditions`].
    #[must_use]
    pub fn matches(&self, record: &Record<'_>) -> bool {
        let mut reading = self.0.reading();
        reading.read(record);
        reading.holds(0)
    }

    /// Whether it holds for all records of a resource, if it is about resources alone.
    #[must_use]
    pub fn matches_resource(&self, resource: Option<&ResourceView<'_>>) -> bool {
        self.matches(&Record::resource_only(resource))
    }
}

impl FromStr for Condition {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Self, ConditionError> {
        Self::parse(text)
    }
}

/// Two are equal if they are written alike.
impl PartialEq for Condition {
    fn eq(&self, other: &Self) -> bool {
        self.0.text(0) == other.0.text(0)
    }
}

impl Eq for Condition {}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.text(0))
    }
}

#[cfg(test)]
mod tests;
