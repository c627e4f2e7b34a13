//! How busy the parts of a GPU are, by its performance monitor (GPM).
//!
//! The monitor answers for the time between two samples, so the first collection has no numbers.
//! Hopper and newer GPUs have it.

use nvml_wrapper::Nvml;
use nvml_wrapper::enums::gpm::GpmMetricId;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::gpm::{GpmSample, gpm_metrics_get};

/// What is asked of the monitor, in the order of [`Activity`]'s fields.
const ASKED: [GpmMetricId; 7] = [
    GpmMetricId::GraphicsUtil,
    GpmMetricId::AnyTensorUtil,
    GpmMetricId::DramBwUtil,
    GpmMetricId::PcieTxPerSec,
    GpmMetricId::PcieRxPerSec,
    GpmMetricId::NvlinkTotalTxPerSec,
    GpmMetricId::NvlinkTotalRxPerSec,
];

const MIB: f64 = 1_048_576.0;

/// What the monitor said; shares from 0 to 1, traffic in bytes per second.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Activity {
    pub(super) graphics: Option<f64>,
    pub(super) tensor: Option<f64>,
    pub(super) dram: Option<f64>,
    pub(super) pcie_sent: Option<f64>,
    pub(super) pcie_received: Option<f64>,
    /// Both directions.
    pub(super) nvlink: Option<f64>,
}

/// The monitor of one GPU or of one instance of it.
#[derive(Debug, Default)]
pub(super) struct Monitor {
    last: Option<GpmSample<'static>>,
}

impl Monitor {
    /// What happened since the last call; `sample` is of now. None at first, as a single sample
    /// is no span.
    pub(super) fn since_last(
        &mut self,
        nvml: &'static Nvml,
        sample: Result<GpmSample<'static>, NvmlError>,
    ) -> Result<Option<Activity>, NvmlError> {
        let last = self.last.take();
        let now = self.last.insert(sample?);
        let Some(last) = last else { return Ok(None) };
        let results = gpm_metrics_get(nvml, &last, now, &ASKED)?;
        let value = |nth: usize| {
            let result: &Result<_, _> = results.get(nth)?;
            result.as_ref().ok().map(|result| result.value).filter(|value| value.is_finite())
        };
        let share = |nth| value(nth).map(|percent| percent / 100.0);
        let bytes = |nth| value(nth).map(|mib| mib * MIB);
        Ok(Some(Activity {
            graphics: share(0),
            tensor: share(1),
            dram: share(2),
            pcie_sent: bytes(3),
            pcie_received: bytes(4),
            nvlink: bytes(5).zip(bytes(6)).map(|(sent, received)| sent + received),
        }))
    }
}
