//! Instants, and the zones that they are written in.

use std::cmp::Ordering;

use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, Offset, TimeZone, Timelike};
use chrono_tz::{OffsetName, Tz};

use super::layout;

/// An instant, and how it is to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Moment {
    /// Since 1970.
    pub(super) secs: i64,
    /// Within the second.
    pub(super) nanos: u32,
    pub(super) zone: Zone,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Zone {
    Utc,
    /// East of UTC, with a name if it has one.
    Fixed {
        offset_secs: i32,
        name: String,
    },
    Named(Tz),
}

impl Zone {
    /// A zone of the IANA database; UTC if it has none of that name.
    pub(super) fn named(name: &str) -> Self {
        match name {
            "" | "UTC" | "Local" => Self::Utc,
            name => name.parse().map_or(Self::Utc, Self::Named),
        }
    }
}

/// An instant taken apart, as clocks of its zone show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Civil {
    pub(super) year: i64,
    /// From 1.
    pub(super) month: u32,
    pub(super) day: u32,
    pub(super) hour: u32,
    pub(super) minute: u32,
    pub(super) second: u32,
    pub(super) nanos: u32,
    /// From 1.
    pub(super) year_day: u32,
    /// 0 is Sunday.
    weekday: u32,
    pub(super) offset_secs: i32,
    pub(super) zone_name: String,
}

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

pub(super) const WEEKDAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

const NANOS_PER_SEC: i64 = 1_000_000_000;

impl Moment {
    /// The first instant of year 1: a time that could not be read.
    pub(super) const ZERO: Self = Self { secs: -62_135_596_800, nanos: 0, zone: Zone::Utc };

    pub(super) fn of_nanos(nanos: i64) -> Self {
        let within = nanos.rem_euclid(NANOS_PER_SEC);
        Self {
            secs: nanos.div_euclid(NANOS_PER_SEC),
            nanos: u32::try_from(within).unwrap_or(0),
            zone: Zone::Utc,
        }
    }

    pub(super) fn of_secs(secs: i64) -> Self {
        Self { secs, nanos: 0, zone: Zone::Utc }
    }

    /// The instant at which clocks of a zone show a date. Of two such the earlier; if clocks skip
    /// it, the one that they would show had they not.
    pub(super) fn of_local(local: NaiveDateTime, zone: Zone) -> Self {
        let utc_secs = local.and_utc().timestamp();
        let offset_secs = match &zone {
            Zone::Utc => 0,
            Zone::Fixed { offset_secs, .. } => *offset_secs,
            Zone::Named(tz) => match tz.offset_from_local_datetime(&local).earliest() {
                Some(offset) => offset.fix().local_minus_utc(),
                None => tz.offset_from_utc_datetime(&local).fix().local_minus_utc(),
            },
        };
        Self { secs: utc_secs - i64::from(offset_secs), nanos: local.nanosecond(), zone }
    }

    pub(super) fn in_utc(&self) -> Self {
        Self { zone: Zone::Utc, ..self.clone() }
    }

    pub(super) fn is_zero(&self) -> bool {
        (self.secs, self.nanos) == (Self::ZERO.secs, 0)
    }

    pub(super) fn order(&self, other: &Self) -> Ordering {
        (self.secs, self.nanos).cmp(&(other.secs, other.nanos))
    }

    pub(super) fn unix_nanos(&self) -> i64 {
        self.secs.wrapping_mul(NANOS_PER_SEC).wrapping_add(self.nanos.into())
    }

    pub(super) fn unix_micros(&self) -> i64 {
        self.secs.wrapping_mul(1_000_000).wrapping_add(i64::from(self.nanos / 1000))
    }

    pub(super) fn unix_millis(&self) -> i64 {
        self.secs.wrapping_mul(1000).wrapping_add(i64::from(self.nanos / 1_000_000))
    }

    /// Taken apart; none if it is too far from our time to have a date.
    pub(super) fn civil(&self) -> Option<Civil> {
        let utc = DateTime::from_timestamp(self.secs, 0)?.naive_utc();
        let (offset_secs, zone_name) = match &self.zone {
            Zone::Utc => (0, "UTC".to_owned()),
            Zone::Fixed { offset_secs, name } => (*offset_secs, name.clone()),
            Zone::Named(tz) => {
                let offset = tz.offset_from_utc_datetime(&utc);
                (
                    offset.fix().local_minus_utc(),
                    offset.abbreviation().unwrap_or_default().to_owned(),
                )
            }
        };
        let local_secs = self.secs.checked_add(offset_secs.into())?;
        let local = DateTime::from_timestamp(local_secs, 0)?.naive_utc();
        Some(Civil {
            year: local.year().into(),
            month: local.month(),
            day: local.day(),
            hour: local.hour(),
            minute: local.minute(),
            second: local.second(),
            nanos: self.nanos,
            year_day: local.ordinal(),
            weekday: local.weekday().num_days_from_sunday(),
            offset_secs,
            zone_name,
        })
    }

    /// Written after a layout of Go.
    pub(super) fn format(&self, layout: &str) -> Result<String, &'static str> {
        let civil = self.civil().ok_or("the time is out of range")?;
        Ok(layout::format(&civil, layout))
    }

    /// As Go writes a time of which nothing else is said.
    pub(super) fn to_text(&self) -> Result<String, &'static str> {
        self.format("2006-01-02 15:04:05.999999999 -0700 MST")
    }
}

impl Civil {
    pub(super) fn month_name(&self) -> &'static str {
        MONTHS[(self.month as usize + 11) % 12]
    }

    pub(super) fn weekday_name(&self) -> &'static str {
        WEEKDAYS[self.weekday as usize % 7]
    }
}

/// A date and time of day, if there is such a day.
pub(super) fn local(
    year: i64,
    month: u32,
    day: u32,
    time: (u32, u32, u32),
    nanos: u32,
) -> Option<NaiveDateTime> {
    let date = NaiveDate::from_ymd_opt(i32::try_from(year).ok()?, month, day)?;
    date.and_hms_nano_opt(time.0, time.1, time.2, nanos)
}
