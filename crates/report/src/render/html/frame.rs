//! The frame of a drawing: where numbers lie, axes, and what is shown under the pointer.

use std::fmt::Write as _;

use crate::analysis::{nice_seconds, nice_step};

/// Size of a drawing, in its own units; a page scales it to its column.
pub(super) const WIDTH: f64 = 640.0;
pub(super) const HEIGHT: f64 = 230.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 28.0;
/// Numbers along an axis.
const TICKS: f64 = 5.0;

/// How numbers are spread along an axis.
#[derive(Debug, Clone, Copy)]
pub(super) enum Scale {
    Linear { from: f64, to: f64, step: f64 },
    Log { from: f64, to: f64 },
}

impl Scale {
    /// Between two numbers, with round ones along it.
    pub(super) fn linear(from: f64, to: f64) -> Self {
        Self::Linear { from, to, step: nice_step((to - from) / TICKS) }
    }

    /// The same between two moments.
    pub(super) fn time(from: f64, to: f64) -> Self {
        Self::Linear { from, to, step: nice_seconds((to - from) / TICKS) }
    }

    /// From zero to a round number that is not less than the most.
    pub(super) fn from_zero(most: f64) -> Self {
        Self::in_steps(most, nice_step(most / TICKS))
    }

    /// The same for bytes, where powers of two are round.
    pub(super) fn of_bytes(most: f64) -> Self {
        let step = if most > 0.0 { (most / TICKS).log2().ceil().exp2() } else { 0.0 };
        Self::in_steps(most, step)
    }

    fn in_steps(most: f64, step: f64) -> Self {
        let to = if step > 0.0 { (most / step - 1e-9).ceil() * step } else { 1.0 };
        Self::Linear { from: 0.0, to, step: if step > 0.0 { step } else { 1.0 } }
    }

    /// The place of a number, from 0 to 1.
    fn part(self, value: f64) -> f64 {
        let part = match self {
            Self::Linear { from, to, .. } if to > from => (value - from) / (to - from),
            Self::Log { from, to } if to > from && from > 0.0 => {
                (value.max(from) / from).ln() / (to / from).ln()
            }
            _ => 0.0,
        };
        if part.is_finite() { part.clamp(0.0, 1.0) } else { 0.0 }
    }

    fn ticks(self) -> Vec<f64> {
        match self {
            Self::Linear { from, to, step } => {
                if step <= 0.0 {
                    return vec![from];
                }
                let first = (from / step).ceil();
                let ticks = (0..12).map(|nth| (first + f64::from(nth)) * step);
                ticks.filter(|tick| *tick <= to + step * 1e-6).collect()
            }
            Self::Log { from, to } => {
                let first = from.log10().ceil() as i32;
                let last = to.log10().floor() as i32;
                let every = ((last - first) / 6 + 1).max(1) as usize;
                (first..=last).step_by(every).map(|power| 10f64.powi(power)).collect()
            }
        }
    }
}

/// A drawing that is being made.
pub(super) struct Frame {
    out: String,
    x: Scale,
    y: Scale,
    height: f64,
}

impl Frame {
    /// A drawing with axes; `label` says what it shows to those who cannot see it.
    pub(super) fn new(
        label: &str,
        x: Scale,
        y: Scale,
        show_x: fn(f64) -> String,
        show_y: fn(f64) -> String,
    ) -> Self {
        let mut frame = Self { out: String::new(), x, y, height: HEIGHT };
        let _ = write!(
            frame.out,
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">",
            super::escaped(label)
        );
        let base = frame.y_at_part(0.0);
        for tick in y.ticks() {
            let at = frame.y(tick);
            let _ = write!(
                frame.out,
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{:.0}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
                 <text class=\"tick\" x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                WIDTH - RIGHT,
                LEFT - 6.0,
                at + 3.5,
                super::escaped(&show_y(tick))
            );
        }
        for tick in x.ticks() {
            let at = frame.x(tick);
            // The last must not be cut off by the edge.
            let anchor = if at > WIDTH - 40.0 { "end" } else { "middle" };
            let _ = write!(
                frame.out,
                "<text class=\"tick\" x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
                base + 16.0,
                super::escaped(&show_x(tick))
            );
        }
        frame
    }

    pub(super) fn x(&self, value: f64) -> f64 {
        LEFT + self.x.part(value) * (WIDTH - LEFT - RIGHT)
    }

    pub(super) fn y(&self, value: f64) -> f64 {
        self.y_at_part(self.y.part(value))
    }

    fn y_at_part(&self, part: f64) -> f64 {
        self.height - BOTTOM - part * (self.height - BOTTOM - TOP)
    }

    /// A box from one number to another, with what is shown under the pointer.
    pub(super) fn bar(
        &mut self,
        class: &str,
        (from, to): (f64, f64),
        (low, high): (f64, f64),
        tip: &str,
    ) {
        let (left, right) = (self.x(from), self.x(to));
        let (bottom, top) = (self.y(low), self.y(high));
        let gap = if right - left > 4.0 { 1.0 } else { 0.0 };
        let _ = write!(
            self.out,
            "<rect class=\"{class}\" x=\"{:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\"{}/>",
            left + gap / 2.0,
            (right - left - gap).max(0.5),
            (bottom - top).max(0.0),
            tip_of(tip)
        );
    }

    /// A line through points; a gap where there is none.
    pub(super) fn line(&mut self, class: &str, points: impl Iterator<Item = Option<(f64, f64)>>) {
        let mut path = String::new();
        let mut is_down = false;
        for point in points {
            let Some((x, y)) = point else {
                is_down = false;
                continue;
            };
            let (x, y) = (self.x(x), self.y(y));
            // Without a length, a point with no neighbours would not be drawn.
            let _ = match is_down {
                true => write!(path, "L{x:.1} {y:.1}"),
                false => write!(path, "M{x:.1} {y:.1}h0"),
            };
            is_down = true;
        }
        let _ = write!(self.out, "<path class=\"line {class}\" d=\"{path}\"/>");
    }

    /// Stairs: each number holds until the next one. The area below is filled.
    pub(super) fn stairs(&mut self, class: &str, points: &[(f64, f64)]) {
        let Some((first, _)) = points.first() else { return };
        let base = self.y_at_part(0.0);
        let mut path = format!("M{:.1} {base:.1}", self.x(*first));
        for (x, y) in points {
            let _ = write!(path, "H{:.1}V{:.1}", self.x(*x), self.y(*y));
        }
        let _ = write!(self.out, "<path class=\"area {class}\" d=\"{path}V{base:.1}Z\"/>");
    }

    /// A line across, with a word at its top.
    pub(super) fn mark(&mut self, at: f64, word: &str, nth: usize) {
        let x = self.x(at);
        let base = self.y_at_part(0.0);
        let anchor = if x > WIDTH - 60.0 { ("end", -4.0) } else { ("start", 4.0) };
        let _ = write!(
            self.out,
            "<line class=\"mark\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{base:.1}\"/>\
             <text class=\"mark\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{}\">{}</text>",
            x + anchor.1,
            TOP + 9.0 + 12.0 * nth as f64,
            anchor.0,
            super::escaped(word)
        );
    }

    /// A strip over the whole height that is seen only under the pointer.
    pub(super) fn strip(&mut self, (from, to): (f64, f64), tip: &str) {
        let (left, right) = (self.x(from), self.x(to));
        let _ = write!(
            self.out,
            "<rect class=\"strip\" x=\"{left:.1}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{:.1}\"{}/>",
            (right - left).max(0.5),
            self.height - BOTTOM - TOP,
            tip_of(tip)
        );
    }

    pub(super) fn finish(mut self) -> String {
        self.out.push_str("</svg>");
        self.out
    }
}

/// What is shown under the pointer, as an attribute.
pub(super) fn tip_of(tip: &str) -> String {
    if tip.is_empty() { String::new() } else { format!(" data-tip=\"{}\"", super::escaped(tip)) }
}
