//! Subscribers and loggers for programs that have none.

use tracing_subscriber::Layer;
use tracing_subscriber::Registry;
use tracing_subscriber::layer::SubscriberExt;

use super::{BoxedLayer, LogBridge, note_log_bridge, targets};
use crate::error::ServiceError;

/// Sets a subscriber that does nothing but send.
pub(crate) fn install_tracing(
    layer: BoxedLayer<Registry>,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<(), ServiceError> {
    let subscriber = tracing_subscriber::registry().with(layer.with_filter(targets(environment)));
    tracing::subscriber::set_global_default(subscriber).map_err(|_| {
        ServiceError::Taken(
            "the program has a subscriber of tracing already: add Service::tracing_layer to it",
        )
    })
}

/// Sets a logger that does nothing but send.
pub(crate) fn install_log(
    bridge: LogBridge,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<(), ServiceError> {
    let bridge = bridge.filtered(targets(environment));
    let most = bridge.most();
    log::set_boxed_logger(Box::new(bridge)).map_err(|_| {
        ServiceError::Taken("the program has a logger already: wrap it with Service::log_bridge")
    })?;
    if log::max_level() == log::LevelFilter::Off {
        log::set_max_level(most);
    }
    note_log_bridge();
    Ok(())
}
