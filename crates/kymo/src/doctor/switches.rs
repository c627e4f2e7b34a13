//! What turns telemetry off, and what is set but cannot be read.

use kymo_service::Config;

use super::check::Checks;

type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Looks at variables and at the configuration.
pub(super) fn look(checks: &mut Checks, config: Option<&Config>, environment: Environment<'_>) {
    enabled(checks, config, environment);
    sampler(checks, environment);
    traceparent(checks, environment);
    resource(checks, environment);
}

fn is_true(value: Option<String>) -> bool {
    value.is_some_and(|value| matches!(value.trim().to_lowercase().as_str(), "1" | "true"))
}

fn enabled(checks: &mut Checks, config: Option<&Config>, environment: Environment<'_>) {
    if is_true(environment("OTEL_SDK_DISABLED")) {
        checks.failed("enabled", "OTEL_SDK_DISABLED is true: nothing is recorded", "unset it");
    } else if config.is_some_and(|config| !config.enabled) {
        checks.failed(
            "enabled",
            "the configuration does not have enabled: true: nothing is recorded",
            "set enabled: true below telemetry:",
        );
    } else if config.is_some() {
        checks.ok("enabled", "the configuration has enabled: true");
    } else {
        checks.ok("enabled", "no variable turns telemetry off");
    }
    if is_true(environment("KYMO_OTEL_DEBUG")) {
        checks.warning(
            "enabled",
            "KYMO_OTEL_DEBUG is set: a service writes to its stdout and sends nothing",
            "unset it to send",
        );
    }
}

fn sampler(checks: &mut Checks, environment: Environment<'_>) {
    let Some(sampler) = environment("OTEL_TRACES_SAMPLER") else { return };
    let share = environment("OTEL_TRACES_SAMPLER_ARG");
    let is_ratio = sampler.ends_with("traceidratio");
    let ratio = share.as_deref().map(str::parse::<f64>);
    let shown = format!("OTEL_TRACES_SAMPLER is {sampler}");
    match (sampler.as_str(), is_ratio, ratio) {
        ("always_off" | "parentbased_always_off", _, _) => checks.failed(
            "sampler",
            format!("{shown}: no span is recorded that has no recorded parent"),
            "unset it, or set always_on",
        ),
        (_, true, Some(Ok(ratio))) if ratio <= 0.0 => checks.failed(
            "sampler",
            format!("{shown} with a share of {ratio}: no trace is recorded"),
            "set OTEL_TRACES_SAMPLER_ARG to 1, or unset both",
        ),
        (_, true, Some(Ok(ratio))) if ratio < 1.0 => checks.warning(
            "sampler",
            format!("{shown} with a share of {ratio}: other traces are not recorded"),
            "set OTEL_TRACES_SAMPLER_ARG to 1 to see all",
        ),
        (_, true, Some(Err(_))) => checks.warning(
            "sampler",
            "OTEL_TRACES_SAMPLER_ARG is no number",
            "set a share from 0 to 1",
        ),
        ("always_on" | "parentbased_always_on", _, _) | (_, true, _) => {
            checks.ok("sampler", shown);
        }
        _ => checks.warning(
            "sampler",
            shown,
            "most SDKs know always_on, always_off, traceidratio and parentbased_ before each",
        ),
    }
}

fn traceparent(checks: &mut Checks, environment: Environment<'_>) {
    let Some(text) = environment("TRACEPARENT") else { return };
    match flags(&text) {
        None => checks.warning(
            "traceparent",
            "TRACEPARENT cannot be read, so spans begin a trace of their own",
            "expected 00-<32 digits>-<16 digits>-<2 digits>, lower-case hexadecimal, not all zero",
        ),
        Some(flags) if flags & 1 == 0 => checks.warning(
            "traceparent",
            "TRACEPARENT says that its trace is not recorded, and SDKs follow it",
            "end it with -01, or unset it",
        ),
        Some(_) => checks.ok("traceparent", "TRACEPARENT is valid: spans hang below it"),
    }
}

/// The flags of a W3C traceparent, if it is one.
fn flags(text: &str) -> Option<u8> {
    let parts: Vec<&str> = text.trim().split('-').collect();
    let is_hex = |part: &str, length| {
        part.len() == length && part.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    };
    let is_zero = |part: &str| part.bytes().all(|byte| byte == b'0');
    let [version, trace, span, flags, rest @ ..] = &*parts else { return None };
    let is_valid = is_hex(version, 2)
        && *version != "ff"
        && (*version != "00" || rest.is_empty())
        && is_hex(trace, 32)
        && !is_zero(trace)
        && is_hex(span, 16)
        && !is_zero(span)
        && is_hex(flags, 2);
    is_valid.then(|| u8::from_str_radix(flags, 16).ok()).flatten()
}

fn resource(checks: &mut Checks, environment: Environment<'_>) {
    if let Some(text) = environment("OTEL_RESOURCE_ATTRIBUTES")
        && text.split(',').any(|pair| !pair.trim().is_empty() && !pair.contains('='))
    {
        checks.warning(
            "resource",
            "OTEL_RESOURCE_ATTRIBUTES has something that is not key=value: many SDKs leave all out",
            "write key=value pairs with commas between them, values percent-encoded",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::State;
    use super::*;

    fn of(variables: &[(&str, &str)], config: Option<&Config>) -> Checks {
        let mut checks = Checks::default();
        look(&mut checks, config, &|name| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        });
        checks
    }

    #[test]
    fn what_turns_telemetry_off_is_a_failure() {
        let off = [("OTEL_SDK_DISABLED", "true")];
        assert_eq!(of(&off, None).states(), [("enabled", State::Failed)]);
        assert_eq!(of(&[], None).states(), [("enabled", State::Ok)]);
        assert_eq!(of(&[], Some(&Config::default())).states(), [("enabled", State::Failed)]);
        assert_eq!(of(&[], Some(&Config::enabled("a"))).states(), [("enabled", State::Ok)]);
        let debug = of(&[("KYMO_OTEL_DEBUG", "1")], None);
        assert_eq!(debug.states()[1], ("enabled", State::Warning));
    }

    #[test]
    fn samplers_that_record_nothing_are_told() {
        let state = |sampler: &str, share: &str| {
            let variables = [("OTEL_TRACES_SAMPLER", sampler), ("OTEL_TRACES_SAMPLER_ARG", share)];
            of(&variables, None).states()[1].1
        };
        assert_eq!(state("always_off", "1"), State::Failed);
        assert_eq!(state("traceidratio", "0"), State::Failed);
        assert_eq!(state("parentbased_traceidratio", "0.1"), State::Warning);
        assert_eq!(state("traceidratio", "half"), State::Warning);
        assert_eq!(state("parentbased_always_on", "1"), State::Ok);
        assert_eq!(state("mine", "1"), State::Warning);
    }

    #[test]
    fn a_traceparent_is_read_as_w3c_has_it() {
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
        assert_eq!(flags(&format!("00-{trace}-00f067aa0ba902b7-03")), Some(3));
        assert_eq!(flags(&format!("01-{trace}-00f067aa0ba902b7-01-more")), Some(1));
        for wrong in [
            format!("00-{trace}-00f067aa0ba902b7"),
            format!("00-{trace}-00f067aa0ba902b7-01-more"),
            format!("ff-{trace}-00f067aa0ba902b7-01"),
            format!("00-{}-00f067aa0ba902b7-01", trace.to_uppercase()),
            format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32)),
            format!("00-{trace}-{}-01", "0".repeat(16)),
            String::new(),
            "ä-b-c-d".to_owned(),
        ] {
            assert_eq!(flags(&wrong), None, "{wrong}");
        }
        let unrecorded = format!("00-{trace}-00f067aa0ba902b7-00");
        let checks = of(&[("TRACEPARENT", &unrecorded)], None);
        assert_eq!(checks.states()[1], ("traceparent", State::Warning));
    }
}
