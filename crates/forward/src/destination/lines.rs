//! Destinations that are written to line by line: a file, the console.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use kymo_wire::{LogsView, MetricData, MetricsView, Signal, TracesView, View, WireError};

use super::file::RotatingFile;
use super::outgoing::Outgoing;
use super::pack::unpack;
use super::settings::{DestinationProtocol, DestinationSettings, FormatSetting};

/// Where the console's lines go.
pub type Console = Arc<Mutex<dyn Write + Send>>;

/// Writes to a file or to the console.
pub(crate) struct LineWriter {
    name: String,
    target: LineTarget,
    format: FormatSetting,
}

enum LineTarget {
    File(RotatingFile),
    Console(Console),
}

/// Why a request was not written.
pub(crate) enum LineError {
    /// It cannot be.
    Damaged(String),
    /// The file or the console does not take it now.
    Io(io::Error),
}

impl LineWriter {
    /// One for a destination that is a file or the console.
    ///
    /// # Errors
    /// It has no path.
    pub(crate) fn new(settings: &DestinationSettings, console: &Console) -> Result<Self, String> {
        let target = match (settings.protocol, &settings.path) {
            (DestinationProtocol::File, Some(path)) => {
                LineTarget::File(RotatingFile::new(path.clone(), settings.rotate))
            }
            (DestinationProtocol::File, None) => return Err("has no path".to_owned()),
            _ => LineTarget::Console(Arc::clone(console)),
        };
        let usual = match target {
            LineTarget::File(_) => FormatSetting::Json,
            LineTarget::Console(_) => FormatSetting::Summary,
        };
        let format = settings.format.unwrap_or(usual);
        Ok(Self { name: settings.name.clone(), target, format })
    }

    /// Writes a request, a line for each of its parts. How many bytes that were.
    pub(crate) fn write(&mut self, outgoing: &Outgoing) -> Result<usize, LineError> {
        let mut lines = Vec::with_capacity(outgoing.parts.len());
        for part in &outgoing.parts {
            let damaged = |why: String| LineError::Damaged(format!("the request {why}"));
            let plain = unpack(&part.bytes, outgoing.compression)
                .map_err(|error| damaged(error.to_string()))?;
            let line = self.line(outgoing, &plain);
            lines.push(line.map_err(|error| damaged(format!("is not OTLP: {error}")))?);
        }
        let size_bytes = lines.iter().map(|line| line.len() + 1).sum();
        let written = match &mut self.target {
            LineTarget::File(file) => file.append(&lines),
            LineTarget::Console(console) => {
                let mut console = console.lock().unwrap_or_else(PoisonError::into_inner);
                print(&mut *console, &lines)
            }
        };
        written.map(|()| size_bytes).map_err(LineError::Io)
    }

    fn line(&self, outgoing: &Outgoing, plain: &[u8]) -> Result<Vec<u8>, WireError> {
        let mut line = Vec::new();
        match self.format {
            FormatSetting::Json => kymo_wire::json::encode(outgoing.signal, plain, &mut line)?,
            FormatSetting::Summary => {
                let (resources, items) = count(outgoing.signal, plain)?;
                let what = crate::signals::items(outgoing.signal);
                let Outgoing { signal, tenant, .. } = outgoing;
                let name = &self.name;
                let size_bytes = plain.len();
                // Writing to memory does not fail.
                let _ = write!(
                    line,
                    "{name}: {signal} of {tenant}: {items} {what} of {resources} resources, \
                     {size_bytes} bytes"
                );
            }
        }
        Ok(line)
    }
}

fn print(console: &mut (dyn Write + Send), lines: &[Vec<u8>]) -> io::Result<()> {
    for line in lines {
        console.write_all(line)?;
        console.write_all(b"\n")?;
    }
    console.flush()
}

/// Groups by resource, and spans, metrics' points or log records in a request.
fn count(signal: Signal, request: &[u8]) -> Result<(usize, usize), WireError> {
    let mut items = 0;
    let resources = match signal {
        Signal::Traces => {
            let request = TracesView::parse(request)?;
            for resource in request.resources {
                for scope in resource?.scopes {
                    items += scope?.items.count();
                }
            }
            request.resources.count()
        }
        Signal::Logs => {
            let request = LogsView::parse(request)?;
            for resource in request.resources {
                for scope in resource?.scopes {
                    items += scope?.items.count();
                }
            }
            request.resources.count()
        }
        Signal::Metrics => {
            let request = MetricsView::parse(request)?;
            for resource in request.resources {
                for scope in resource?.scopes {
                    for metric in scope?.items {
                        items += points(&metric?.data);
                    }
                }
            }
            request.resources.count()
        }
    };
    Ok((resources, items))
}

fn points(data: &MetricData<'_>) -> usize {
    match data {
        MetricData::None => 0,
        MetricData::Gauge(gauge) => gauge.data_points.count(),
        MetricData::Sum(sum) => sum.data_points.count(),
        MetricData::Histogram(histogram) => histogram.data_points.count(),
        MetricData::ExponentialHistogram(histogram) => histogram.data_points.count(),
        MetricData::Summary(summary) => summary.data_points.count(),
    }
}
