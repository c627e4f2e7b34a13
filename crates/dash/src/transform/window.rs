//! Moving means, variances and standard deviations over a window of rows.
//!
//! Values enter and leave the window one by one, so that the time taken does not depend on its size.

use super::options::Options;
use crate::frame::{Field, Value};

/// What is computed of the values in the window.
#[derive(Clone, Copy)]
enum Statistic {
    Mean,
    Variance,
    Deviation,
}

/// The statistic of the window around, or up to, each row.
pub(super) fn moving(options: Options<'_>, field: &Field) -> Result<Vec<Value>, String> {
    let statistic = match options.text("reducer").unwrap_or("mean") {
        "mean" => Statistic::Mean,
        "variance" => Statistic::Variance,
        "stdDev" => Statistic::Deviation,
        other => return Err(format!("the reducer \"{other}\" has no moving form")),
    };
    let rows = field.values.len();
    let size = options.number("windowSize").unwrap_or(0.1);
    if size.is_nan() || size <= 0.0 {
        return Err("expected the size of the window to be above zero".to_owned());
    }
    let part = options.text("windowSizeMode").unwrap_or("percentage") == "percentage";
    let size = (if part { size * rows as f64 } else { size }).ceil() as usize;
    let centered = options.text("windowAlignment") == Some("centered");
    // Rows before and after the one in question that count, itself not counted.
    let (before, after) =
        if centered { (size / 2, size.div_ceil(2).max(1) - 1) } else { (size.max(1) - 1, 0) };
    let mut window = Window::default();
    let number = |row: usize| field.at(row).to_number();
    let mut entered = 0;
    let one = |row: usize| {
        while entered < rows && entered <= row.saturating_add(after) {
            number(entered).into_iter().for_each(|value| window.enter(value));
            entered += 1;
        }
        if let Some(gone) = row.checked_sub(before + 1) {
            number(gone).into_iter().for_each(|value| window.leave(value));
        }
        Value::Number(window.statistic(statistic))
    };
    Ok((0..rows).map(one).collect())
}

/// Count, mean and squared distances of the values in the window, by Welford's method.
#[derive(Default)]
struct Window {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Window {
    fn enter(&mut self, value: f64) {
        self.count += 1.0;
        let distance = value - self.mean;
        self.mean += distance / self.count;
        self.squares += distance * (value - self.mean);
    }

    fn leave(&mut self, value: f64) {
        self.count -= 1.0;
        if self.count < 1.0 {
            *self = Self::default();
            return;
        }
        let distance = value - self.mean;
        self.mean -= distance / self.count;
        self.squares -= distance * (value - self.mean);
    }

    fn statistic(&self, statistic: Statistic) -> f64 {
        // Rounding may leave a little less than nothing.
        let variance = if self.count > 0.0 { (self.squares / self.count).max(0.0) } else { 0.0 };
        match statistic {
            Statistic::Mean => self.mean,
            Statistic::Variance => variance,
            Statistic::Deviation => variance.sqrt(),
        }
    }
}
