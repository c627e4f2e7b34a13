//! Which records go to a destination: signals, tenants, routes, and a share of all traces.

use kymo_condition::Conditions;
use kymo_condition::edit::{Retained, records, retain};
use kymo_wire::{Signal, WireError};

use super::ratio::Ratio;
use super::settings::DestinationSettings;

/// Which records go to a destination.
pub(crate) struct Selection {
    tenants: Option<Vec<String>>,
    routes: [Route; 3],
    ratio: Option<Ratio>,
}

enum Route {
    All,
    Nothing,
    /// What any of these takes.
    Some(Box<Conditions>),
}

impl Selection {
    /// What settings say.
    ///
    /// # Errors
    /// A condition that is none.
    pub(crate) fn new(settings: &DestinationSettings) -> Result<Self, String> {
        let mut routes = [Route::Nothing, Route::Nothing, Route::Nothing];
        for signal in settings.carried() {
            *route_mut(&mut routes, signal) = route(settings, signal)?;
        }
        let ratio = settings.sampling.as_ref().and_then(|sampling| sampling.ratio);
        Ok(Self { tenants: settings.tenants.clone(), routes, ratio: ratio.map(Ratio::new) })
    }

    /// Whether any record of a request may go.
    pub(crate) fn wants(&self, signal: Signal, tenant: &str) -> bool {
        let is_routed = !matches!(self.route(signal), Route::Nothing);
        let is_theirs =
            self.tenants.as_ref().is_none_or(|tenants| tenants.iter().any(|known| known == tenant));
        is_routed && is_theirs
    }

    /// Whether requests have to be looked into.
    pub(crate) fn looks_inside(&self, signal: Signal) -> bool {
        matches!(self.route(signal), Route::Some(_)) || self.ratio_of(signal).is_some()
    }

    /// What goes of a request of OTLP.
    pub(crate) fn select(&self, signal: Signal, request: &[u8]) -> Result<Retained, WireError> {
        let ratio = self.ratio_of(signal);
        let conditions = match self.route(signal) {
            Route::Nothing => return Ok(Retained::None),
            Route::All => None,
            Route::Some(conditions) => Some(conditions),
        };
        let mut reading = conditions.map(|conditions| (conditions.len(), conditions.reading()));
        // Most requests go as a whole or not at all, and need not be written again.
        let mut are_wanted = Vec::new();
        records(signal, request, |record| {
            let is_sampled =
                ratio.is_none_or(|ratio| ratio.keeps_span(record.trace_id(), record.raw()));
            let is_wanted = is_sampled
                && reading.as_mut().is_none_or(|(conditions, reading)| {
                    reading.read(record);
                    (0..*conditions).any(|nth| reading.holds(nth))
                });
            are_wanted.push(is_wanted);
        })?;
        if are_wanted.iter().all(|is_wanted| *is_wanted) {
            return Ok(Retained::All);
        }
        if !are_wanted.contains(&true) {
            return Ok(Retained::None);
        }
        let mut are_wanted = are_wanted.into_iter();
        retain(signal, request, &mut |_| are_wanted.next().unwrap_or(true))
    }

    /// The share of traces; of other signals all go.
    fn ratio_of(&self, signal: Signal) -> Option<Ratio> {
        self.ratio.filter(|_| signal == Signal::Traces)
    }

    fn route(&self, signal: Signal) -> &Route {
        let [traces, metrics, logs] = &self.routes;
        match signal {
            Signal::Traces => traces,
            Signal::Metrics => metrics,
            Signal::Logs => logs,
        }
    }
}

fn route_mut(routes: &mut [Route; 3], signal: Signal) -> &mut Route {
    let [traces, metrics, logs] = routes;
    match signal {
        Signal::Traces => traces,
        Signal::Metrics => metrics,
        Signal::Logs => logs,
    }
}

fn route(settings: &DestinationSettings, signal: Signal) -> Result<Route, String> {
    if settings.routes.is_empty() {
        return Ok(Route::All);
    }
    let of_signal: Vec<_> =
        settings.routes.iter().filter(|route| route.signal.signal() == signal).collect();
    if of_signal.is_empty() {
        return Ok(Route::Nothing);
    }
    let mut conditions = Conditions::new();
    for route in of_signal {
        let Some(text) = &route.condition else { return Ok(Route::All) };
        let added = conditions.add(text);
        added.map_err(|error| format!("where {text:?}: {error}"))?;
    }
    Ok(Route::Some(Box::new(conditions)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::destination::settings::{
        DestinationProtocol, RouteSettings, SamplingSettings, SignalName,
    };
    use crate::destination::testing::{spans, traces};

    fn settings() -> DestinationSettings {
        DestinationSettings::new("a", DestinationProtocol::Grpc)
    }

    #[test]
    fn without_routes_everything_goes_and_nothing_is_looked_into() {
        let selection = Selection::new(&settings()).unwrap();
        for signal in Signal::ALL {
            assert!(selection.wants(signal, "anybody") && !selection.looks_inside(signal));
        }
    }

    #[test]
    fn a_record_goes_if_any_route_of_its_signal_takes_it() {
        let mut settings = settings();
        let route = |text: &str| RouteSettings {
            signal: SignalName::Traces,
            condition: Some(text.to_owned()),
        };
        settings.routes = vec![route("name = \"a\""), route("name = \"b\"")];
        settings.tenants = Some(vec!["ours".to_owned()]);
        let selection = Selection::new(&settings).unwrap();
        assert!(selection.wants(Signal::Traces, "ours"));
        assert!(!selection.wants(Signal::Traces, "theirs"));
        assert!(!selection.wants(Signal::Logs, "ours"), "a signal without a route does not go");
        let request = traces(&[(1, "a"), (2, "c"), (3, "b")]);
        match selection.select(Signal::Traces, &request).unwrap() {
            Retained::Some(left) => assert_eq!(spans(&left), ["a", "b"]),
            other => panic!("{other:?}"),
        }
        let all = selection.select(Signal::Traces, &traces(&[(1, "a")])).unwrap();
        assert!(matches!(all, Retained::All));
        settings.routes = vec![route("name =")];
        assert!(Selection::new(&settings).is_err());
    }

    #[test]
    fn a_share_is_taken_of_traces_only() {
        let mut settings = settings();
        settings.sampling = Some(SamplingSettings { ratio: Some(0.0), tail: None });
        let selection = Selection::new(&settings).unwrap();
        assert!(selection.looks_inside(Signal::Traces) && !selection.looks_inside(Signal::Logs));
        let left = selection.select(Signal::Traces, &traces(&[(1, "a")])).unwrap();
        assert!(matches!(left, Retained::None));
    }
}
