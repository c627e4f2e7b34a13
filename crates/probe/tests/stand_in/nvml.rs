//! A stand-in for NVIDIA's library that plays three GPUs.
//!
//! Compiled by the tests into a shared library and loaded as the real one is. GPU 0 is new (it has
//! a performance monitor), GPU 1 is older and divided into two instances, GPU 2 fails every call.
//!
//! What it does is changed by files in the directory `STAND_IN_DIR`:
//!
//! | file | meaning |
//! |---|---|
//! | `lost` | the number of a GPU that is lost as well |
//! | `xid` | the numbers of a GPU and of an error that it tells, once |
//! | `no_driver` | there is no driver: the library can neither be begun nor used |
//! | `no_samples` | the performance monitor takes no samples |
//! | `hang` | counting GPUs does not return while this is there |
#![crate_type = "cdylib"]
#![allow(non_snake_case, clippy::missing_safety_doc)]

use std::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

type Code = u32;
type Handle = *mut c_void;

const SUCCESS: Code = 0;
const UNINITIALIZED: Code = 1;
const INVALID_ARGUMENT: Code = 2;
const NOT_SUPPORTED: Code = 3;
const NOT_FOUND: Code = 6;
const INSUFFICIENT_SIZE: Code = 7;
const DRIVER_NOT_LOADED: Code = 9;
const TIMEOUT: Code = 10;
const GPU_IS_LOST: Code = 15;
const UNKNOWN: Code = 999;

const GIB: u64 = 1 << 30;
/// Handles of instances begin here; below are those of GPUs, from 1.
const FIRST_INSTANCE: usize = 100;

/// What is in a file that changes what this does.
fn told(file: &str) -> Option<String> {
    let text = std::fs::read_to_string(format!("{}/{file}", env!("STAND_IN_DIR"))).ok()?;
    Some(text.trim().to_owned())
}

fn is_lost(gpu: usize) -> bool {
    gpu == 2 || told("lost") == Some(gpu.to_string())
}

/// The number of the GPU of a handle, unless it is lost.
fn gpu(handle: Handle) -> Result<usize, Code> {
    let gpu = match handle as usize {
        0 => return Err(INVALID_ARGUMENT),
        instance if instance >= FIRST_INSTANCE => 1,
        gpu => gpu - 1,
    };
    if is_lost(gpu) { Err(GPU_IS_LOST) } else { Ok(gpu) }
}

unsafe fn write<T>(
    to: *mut T,
    handle: Handle,
    value: impl FnOnce(usize) -> Result<T, Code>,
) -> Code {
    match gpu(handle).and_then(value) {
        Ok(value) => {
            unsafe { to.write(value) };
            SUCCESS
        }
        Err(code) => code,
    }
}

unsafe fn write_text(to: *mut c_char, length: u32, text: &str) -> Code {
    if text.len() >= length as usize {
        return INSUFFICIENT_SIZE;
    }
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), to, text.len());
        to.add(text.len()).write(0);
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit_v2() -> Code {
    if told("no_driver").is_some() { DRIVER_NOT_LOADED } else { SUCCESS }
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlShutdown() -> Code {
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetDriverVersion(to: *mut c_char, length: u32) -> Code {
    unsafe { write_text(to, length, "999.42.01") }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetCount_v2(to: *mut u32) -> Code {
    while told("hang").is_some() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    if told("no_driver").is_some() {
        return UNINITIALIZED;
    }
    unsafe { to.write(3) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByIndex_v2(index: u32, to: *mut Handle) -> Code {
    unsafe { to.write((index as usize + 1) as Handle) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetUUID(h: Handle, to: *mut c_char, length: u32) -> Code {
    match gpu(h) {
        Ok(gpu) => unsafe { write_text(to, length, &format!("GPU-0000-{gpu}")) },
        Err(code) => code,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetName(h: Handle, to: *mut c_char, length: u32) -> Code {
    match gpu(h) {
        Ok(1) if h as usize >= FIRST_INSTANCE => unsafe {
            write_text(to, length, "Stand-in A100 MIG 1g.5gb")
        },
        Ok(0) => unsafe { write_text(to, length, "Stand-in H100") },
        Ok(_) => unsafe { write_text(to, length, "Stand-in A100") },
        Err(code) => code,
    }
}

#[repr(C)]
pub struct PciInfo {
    legacy_bus_id: [u8; 16],
    numbers: [u32; 5],
    bus_id: [u8; 32],
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetPciInfo_v3(h: Handle, to: *mut PciInfo) -> Code {
    unsafe {
        write(to, h, |gpu| {
            let mut bus_id = [0; 32];
            let text = format!("00000000:0{gpu}:00.0");
            bus_id[..text.len()].copy_from_slice(text.as_bytes());
            Ok(PciInfo { legacy_bus_id: [0; 16], numbers: [0; 5], bus_id })
        })
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetClockInfo(h: Handle, clock: u32, to: *mut u32) -> Code {
    unsafe { write(to, h, |gpu| Ok(1000 * clock + gpu as u32)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetTemperature(h: Handle, _sensor: u32, to: *mut u32) -> Code {
    unsafe { write(to, h, |gpu| Ok(40 + gpu as u32)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetPowerUsage(h: Handle, to: *mut u32) -> Code {
    unsafe { write(to, h, |gpu| Ok(250_500 + gpu as u32)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetTotalEnergyConsumption(h: Handle, to: *mut u64) -> Code {
    unsafe { write(to, h, |_| Ok(123_456_789_012)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetPcieReplayCounter(h: Handle, to: *mut u32) -> Code {
    unsafe { write(to, h, |gpu| Ok(gpu as u32)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetVirtualizationMode(h: Handle, to: *mut u32) -> Code {
    unsafe { write(to, h, |_| Ok(0)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetUtilizationRates(h: Handle, to: *mut [u32; 2]) -> Code {
    unsafe { write(to, h, |_| Ok([80, 30])) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetEncoderUtilization(
    h: Handle,
    to: *mut u32,
    period: *mut u32,
) -> Code {
    unsafe {
        period.write(1000);
        write(to, h, |_| Ok(5))
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetDecoderUtilization(
    h: Handle,
    to: *mut u32,
    period: *mut u32,
) -> Code {
    unsafe {
        period.write(1000);
        // The older GPU has no decoder: one metric missing, the others there.
        write(to, h, |gpu| if gpu == 0 { Ok(6) } else { Err(NOT_SUPPORTED) })
    }
}

#[repr(C)]
pub struct Memory {
    version: u32,
    total: u64,
    reserved: u64,
    free: u64,
    used: u64,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMemoryInfo_v2(h: Handle, to: *mut Memory) -> Code {
    let version = unsafe { (*to).version };
    let is_instance = h as usize >= FIRST_INSTANCE;
    unsafe {
        write(to, h, |_| {
            let total = if is_instance { 5 * GIB } else { 80 * GIB };
            Ok(Memory { version, total, reserved: GIB, free: total - 3 * GIB, used: 2 * GIB })
        })
    }
}

#[repr(C)]
pub struct FieldValue {
    field: u32,
    scope: u32,
    timestamp: i64,
    latency: i64,
    value_type: u32,
    code: Code,
    value: u64,
}

static PCIE_BYTES: AtomicU64 = AtomicU64::new(1000);

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetFieldValues(
    h: Handle,
    count: i32,
    values: *mut FieldValue,
) -> Code {
    if let Err(code) = gpu(h) {
        return code;
    }
    for value in unsafe { std::slice::from_raw_parts_mut(values, count as usize) } {
        (value.code, value.value_type, value.value) = match value.field {
            82 => (SUCCESS, 1, 55),
            142 => (SUCCESS, 1, 2),
            143 => (SUCCESS, 1, 1),
            145 => (SUCCESS, 1, 0),
            197 | 198 => (SUCCESS, 3, PCIE_BYTES.fetch_add(1_000_000, Ordering::Relaxed)),
            _ => (NOT_SUPPORTED, 1, 0),
        };
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlEventSetCreate(to: *mut Handle) -> Code {
    unsafe { to.write(Box::into_raw(Box::new(0_usize)).cast()) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlEventSetFree(set: Handle) -> Code {
    drop(unsafe { Box::from_raw(set.cast::<usize>()) });
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceRegisterEvents(h: Handle, _types: u64, set: Handle) -> Code {
    unsafe { write(set.cast::<usize>(), h, |_| Ok(h as usize)) }
}

#[repr(C)]
pub struct EventData {
    device: Handle,
    event_type: u64,
    data: u64,
    instances: [u32; 2],
}

static XID_IS_TOLD: AtomicBool = AtomicBool::new(false);

/// GPU 0 has one XID error, told once; others are told by a file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlEventSetWait_v2(set: Handle, to: *mut EventData, _ms: u32) -> Code {
    let handle = unsafe { set.cast::<usize>().read() };
    let of_file = told("xid").and_then(|text| {
        let (gpu, error) = text.split_once(' ')?;
        let is_asked = gpu.parse::<usize>().ok()? + 1 == handle;
        let _ = is_asked.then(|| std::fs::remove_file(concat!(env!("STAND_IN_DIR"), "/xid")));
        error.parse::<u64>().ok().filter(|_| is_asked)
    });
    let first = || (handle == 1 && !XID_IS_TOLD.swap(true, Ordering::Relaxed)).then_some(79);
    let Some(data) = of_file.or_else(first) else { return TIMEOUT };
    unsafe {
        to.write(EventData { device: handle as Handle, event_type: 8, data, instances: [0; 2] })
    };
    SUCCESS
}

#[repr(C)]
pub struct GpmSupport {
    version: u32,
    is_supported: u32,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlGpmQueryDeviceSupport(h: Handle, to: *mut GpmSupport) -> Code {
    unsafe { write(to, h, |gpu| Ok(GpmSupport { version: 1, is_supported: u32::from(gpu == 0) })) }
}

static LIVING_SAMPLES: AtomicU64 = AtomicU64::new(0);

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlGpmSampleAlloc(to: *mut Handle) -> Code {
    // A probe that forgets to free them would fill the memory: at most two of each GPU live.
    if LIVING_SAMPLES.fetch_add(1, Ordering::Relaxed) > 16 {
        return INSUFFICIENT_SIZE;
    }
    unsafe { to.write(Box::into_raw(Box::new(0_u64)).cast()) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlGpmSampleFree(sample: Handle) -> Code {
    LIVING_SAMPLES.fetch_sub(1, Ordering::Relaxed);
    drop(unsafe { Box::from_raw(sample.cast::<u64>()) });
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlGpmSampleGet(h: Handle, sample: Handle) -> Code {
    static TIME: AtomicU64 = AtomicU64::new(1);
    let now = TIME.fetch_add(1, Ordering::Relaxed);
    let failure = if told("no_samples").is_some() { UNKNOWN } else { NOT_SUPPORTED };
    let is_working = |gpu| gpu == 0 && failure == NOT_SUPPORTED;
    unsafe {
        write(sample.cast::<u64>(), h, |gpu| if is_working(gpu) { Ok(now) } else { Err(failure) })
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlGpmMigSampleGet(_h: Handle, _id: u32, _sample: Handle) -> Code {
    NOT_SUPPORTED
}

#[repr(C)]
pub struct GpmMetric {
    id: u32,
    code: Code,
    value: f64,
    texts: [*const c_char; 3],
}

#[repr(C)]
pub struct GpmMetrics {
    version: u32,
    count: u32,
    samples: [*const u64; 2],
    metrics: [GpmMetric; 210],
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlGpmMetricsGet(to: *mut GpmMetrics) -> Code {
    let request = unsafe { &mut *to };
    let [first, second] = request.samples;
    if unsafe { *first >= *second } {
        return INVALID_ARGUMENT; // the samples must be in order of time
    }
    for metric in &mut request.metrics[..request.count as usize] {
        let value = match metric.id {
            1 => Some(75.0),
            5 => Some(25.0),
            10 => Some(12.5),
            20 => Some(2.0),
            21 => Some(3.0),
            60 => Some(100.0),
            61 => Some(100.0),
            _ => None,
        };
        metric.code = if value.is_some() { SUCCESS } else { NOT_SUPPORTED };
        metric.value = value.unwrap_or(0.0);
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMigMode(h: Handle, to: *mut u32, pending: *mut u32) -> Code {
    let mode = |gpu| if gpu == 1 { Ok(1) } else { Err(NOT_SUPPORTED) };
    unsafe {
        pending.write(0);
        write(to, h, mode)
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMaxMigDeviceCount(h: Handle, to: *mut u32) -> Code {
    unsafe { write(to, h, |_| Ok(7)) }
}

/// Instances are at 0, 2 and 3; the last two share one GPU instance.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMigDeviceHandleByIndex(
    h: Handle,
    index: u32,
    to: *mut Handle,
) -> Code {
    let is_there = matches!(index, 0 | 2 | 3);
    let instance = (FIRST_INSTANCE + index as usize) as Handle;
    unsafe { write(to, h, |_| if is_there { Ok(instance) } else { Err(NOT_FOUND) }) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetGpuInstanceId(h: Handle, to: *mut u32) -> Code {
    let id = if h as usize == FIRST_INSTANCE { 7 } else { 9 };
    unsafe { write(to, h, |_| Ok(id)) }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Process {
    pid: u32,
    bytes: u64,
    instances: [u32; 2],
}

unsafe fn list(h: Handle, count: *mut u32, to: *mut Process, processes: &[(u32, u64)]) -> Code {
    match gpu(h) {
        Err(code) => return code,
        Ok(0) => {}
        Ok(_) => {
            unsafe { count.write(0) };
            return SUCCESS;
        }
    }
    let room = unsafe { count.read() } as usize;
    unsafe { count.write(processes.len() as u32) };
    if to.is_null() || room < processes.len() {
        return INSUFFICIENT_SIZE;
    }
    for (nth, (pid, bytes)) in processes.iter().enumerate() {
        let process = Process { pid: *pid, bytes: *bytes, instances: [u32::MAX; 2] };
        unsafe { to.add(nth).write(process) };
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetComputeRunningProcesses_v3(
    h: Handle,
    count: *mut u32,
    to: *mut Process,
) -> Code {
    // The last tells no size.
    unsafe {
        list(h, count, to, &[(std::process::id(), GIB), (4_000_000, 7), (4_000_001, u64::MAX)])
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetGraphicsRunningProcesses_v3(
    h: Handle,
    count: *mut u32,
    to: *mut Process,
) -> Code {
    unsafe { list(h, count, to, &[(std::process::id(), GIB)]) }
}

#[repr(C)]
pub struct Share {
    pid: u32,
    micros: u64,
    shares: [u32; 4],
}

/// GPU 0 tells shares of this process, twice until it was asked for those after 2,000; GPU 1 none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetProcessUtilization(
    h: Handle,
    to: *mut Share,
    count: *mut u32,
    since_micros: u64,
) -> Code {
    match gpu(h) {
        Ok(0) => {}
        Ok(_) => return NOT_SUPPORTED,
        Err(code) => return code,
    }
    if since_micros >= 2000 {
        unsafe { count.write(0) };
        return NOT_FOUND;
    }
    let room = unsafe { count.read() };
    unsafe { count.write(2) };
    if to.is_null() || room < 2 {
        return INSUFFICIENT_SIZE;
    }
    for (nth, share) in [(0, 20), (1, 40)] {
        let micros = 1000 * (nth as u64 + 1);
        let shares = [share, 0, 0, 0];
        unsafe { to.add(nth).write(Share { pid: std::process::id(), micros, shares }) };
    }
    SUCCESS
}
