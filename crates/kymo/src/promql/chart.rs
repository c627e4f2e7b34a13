//! Series as lines over time, in a terminal.
//!
//! A cell has 2 by 4 dots of Braille. Lines are told apart by colours; where there are none, by
//! letters.

use std::fmt::Write as _;

use super::answer::{Found, Series};
use super::ask::Moments;
use super::shown::text_of;
use crate::failure::Failure;
use crate::frame::{Unit, readable};
use crate::terminal::{self, Paint};
use crate::units;

/// Lines of a drawing.
const HEIGHT: usize = 16;
/// Lines between two numbers at the side.
const LINES_PER_NUMBER: usize = 4;
/// Series that can be told apart.
const MAX_SERIES: usize = 12;
/// The narrowest drawing.
const MIN_WIDTH: usize = 20;
/// Dots of a cell, across and down.
const DOTS: (usize, usize) = (2, 4);
/// The first sign of Braille, without any dot.
const BRAILLE: u32 = 0x2800;
/// The bit of each dot: by line, by column.
const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
const NANOS_PER_DAY: i64 = 86_400_000_000_000;

/// A chart of series.
pub(super) fn draw(
    found: &Found,
    moments: &Moments,
    columns: usize,
    paint: Paint,
) -> Result<String, Failure> {
    let point;
    let series = match found {
        Found::Series(series) => series.iter().collect::<Vec<_>>(),
        Found::Number(time, number) => {
            let points = vec![(*time, *number)];
            point = Series { labels: Default::default(), points, histograms: Vec::new() };
            vec![&point]
        }
        Found::Text(..) => {
            return Err(Failure::Usage("a text cannot be drawn: leave out --chart".into()));
        }
    };
    let is_drawable = |series: &&Series| series.points.iter().any(|(_, number)| number.is_finite());
    let (mut drawn, others): (Vec<&Series>, Vec<&Series>) =
        series.into_iter().partition(is_drawable);
    let have_histograms = others.iter().any(|series| !series.histograms.is_empty());
    // The largest are looked for first.
    drawn.sort_by(|one, other| most(other).total_cmp(&most(one)));
    let left_out = drawn.len().saturating_sub(MAX_SERIES);
    drawn.truncate(MAX_SERIES);
    let mut out = String::new();
    if drawn.is_empty() {
        out.push_str("nothing to draw\n");
    } else {
        let scale = Scale::of(&drawn);
        let labels = scale.labels();
        let widest = labels.iter().flatten().map(|label| terminal::width(label)).max().unwrap_or(0);
        let width = columns.saturating_sub(widest + 2).max(MIN_WIDTH);
        let mut canvas = Canvas::new(width);
        for (nth, series) in drawn.iter().enumerate() {
            canvas.line(nth, &series.points, moments, &scale);
        }
        let letters = drawn.len() > 1 && !paint.is_on();
        canvas.write(&mut out, &labels, widest, letters, paint);
        write_times(&mut out, moments, widest, width);
        write_legend(&mut out, &drawn, letters, columns, paint);
    }
    if left_out > 0 {
        let _ = writeln!(
            out,
            "{left_out} more series are smaller and not drawn: topk(), bottomk() and matchers choose"
        );
    }
    if have_histograms {
        out.push_str("histograms are not drawn: histogram_quantile() makes numbers of them\n");
    }
    Ok(out)
}

fn most(series: &Series) -> f64 {
    let finite = series.points.iter().map(|(_, number)| *number).filter(|n| n.is_finite());
    finite.fold(f64::NEG_INFINITY, f64::max)
}

/// Which numbers are at the bottom and at the top.
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    fn of(series: &[&Series]) -> Self {
        let numbers = series.iter().flat_map(|series| &series.points).map(|(_, number)| *number);
        let (low, high) = numbers
            .filter(|number| number.is_finite())
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), number| {
                (low.min(number), high.max(number))
            });
        // Zero belongs to numbers that come near it: else small changes look large.
        let low = if low > 0.0 && low < high / 2.0 { 0.0 } else { low };
        let high = if high < 0.0 && high > low / 2.0 { 0.0 } else { high };
        if low < high {
            return Self { low, high };
        }
        let around = if low == 0.0 { 1.0 } else { low.abs() / 2.0 };
        Self { low: low - around, high: high + around }
    }

    /// The line of dots for a number, from the top.
    fn place(&self, number: f64) -> usize {
        let last = (HEIGHT * DOTS.1 - 1) as f64;
        // Halves, since the difference of two large numbers may be none.
        let part = (number / 2.0 - self.low / 2.0) / (self.high / 2.0 - self.low / 2.0);
        (last - (part * last).round()).clamp(0.0, last) as usize
    }

    /// What stands beside each line.
    fn labels(&self) -> Vec<Option<String>> {
        let label = |line: usize| {
            let is_told = line.is_multiple_of(LINES_PER_NUMBER) || line == HEIGHT - 1;
            let part = line as f64 / (HEIGHT - 1) as f64;
            let number = self.high * (1.0 - part) + self.low * part;
            // What should be zero and is nearly.
            let is_zero = number.abs() < (self.high / 2.0 - self.low / 2.0) * 1e-9;
            is_told.then(|| readable(if is_zero { 0.0 } else { number }, Unit::None))
        };
        (0..HEIGHT).map(label).collect()
    }
}

/// Dots of a cell, and whose they are.
#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    dots: u8,
    nth: usize,
}

/// Cells by line and column.
struct Canvas {
    width: usize,
    cells: Vec<Cell>,
}

impl Canvas {
    fn new(width: usize) -> Self {
        Self { width, cells: vec![Cell::default(); width * HEIGHT] }
    }

    fn dot(&mut self, nth: usize, (x, y): (usize, usize)) {
        let place = (y / DOTS.1) * self.width + x / DOTS.0;
        if let Some(cell) = self.cells.get_mut(place) {
            cell.dots |= BITS[y % DOTS.1][x % DOTS.0];
            cell.nth = nth;
        }
    }

    /// A series: points that follow each other are joined.
    fn line(&mut self, nth: usize, points: &[(i64, f64)], moments: &Moments, scale: &Scale) {
        let (start, end) = moments.bounds_nanos();
        let last = (self.width * DOTS.0 - 1) as f64;
        let span = (end - start).max(1) as f64;
        let mut before: Option<(i64, (usize, usize))> = None;
        for (time, number) in points {
            if !number.is_finite() {
                before = None;
                continue;
            }
            let part = (time - start) as f64 / span;
            let place = ((part * last).round().clamp(0.0, last) as usize, scale.place(*number));
            match before {
                Some((earlier, from)) if time - earlier <= moments.step_nanos() * 3 / 2 => {
                    self.join(nth, from, place);
                }
                _ => self.dot(nth, place),
            }
            before = Some((*time, place));
        }
    }

    fn join(&mut self, nth: usize, from: (usize, usize), to: (usize, usize)) {
        let steps = from.0.abs_diff(to.0).max(from.1.abs_diff(to.1)).max(1);
        let between = |a: usize, b: usize, step: usize| {
            let part = step as f64 / steps as f64;
            (a as f64 + (b as f64 - a as f64) * part).round() as usize
        };
        for step in 0..=steps {
            self.dot(nth, (between(from.0, to.0, step), between(from.1, to.1, step)));
        }
    }

    fn write(
        &self,
        out: &mut String,
        labels: &[Option<String>],
        widest: usize,
        letters: bool,
        paint: Paint,
    ) {
        for (label, cells) in labels.iter().zip(self.cells.chunks(self.width)) {
            let (text, mark) = match label {
                Some(label) => (label.as_str(), '┤'),
                None => ("", '│'),
            };
            out.push_str(&terminal::pad_left(text, widest));
            out.push(' ');
            out.push(mark);
            let drawn = cells.iter().rposition(|cell| cell.dots != 0).map_or(0, |at| at + 1);
            for run in cells[..drawn].chunk_by(|a, b| a.nth == b.nth) {
                let sign = |cell: &Cell| match cell.dots {
                    0 => ' ',
                    _ if letters => letter(cell.nth),
                    dots => char::from_u32(BRAILLE + u32::from(dots)).unwrap_or(' '),
                };
                let text: String = run.iter().map(sign).collect();
                out.push_str(&paint.nth(run[0].nth, &text));
            }
            out.push('\n');
        }
    }
}

/// What stands for a series where there are no colours.
fn letter(nth: usize) -> char {
    char::from(b'a' + (nth % MAX_SERIES) as u8)
}

/// The times below a drawing: at its ends and, if there is room, in its middle.
fn write_times(out: &mut String, moments: &Moments, widest: usize, width: usize) {
    let (start, end) = moments.bounds_nanos();
    let shown = |nanos: i64| {
        let text = units::time(nanos);
        let is_within_a_day = end - start <= NANOS_PER_DAY;
        let part = if is_within_a_day { text.get(11..19) } else { text.get(5..16) };
        part.unwrap_or(&text).replace('T', " ")
    };
    let (first, middle, last) = (shown(start), shown(start + (end - start) / 2), shown(end));
    let _ = writeln!(out, "{} └{}", " ".repeat(widest), "─".repeat(width));
    let texts = first.len() + middle.len() + last.len();
    let indent = " ".repeat(widest + 2);
    if texts + 4 > width {
        let gap = " ".repeat(width.saturating_sub(first.len() + last.len()).max(1));
        let _ = writeln!(out, "{indent}{first}{gap}{last}");
        return;
    }
    let before = width / 2 - middle.len() / 2 - first.len();
    let after = width - first.len() - before - middle.len() - last.len();
    let (before, after) = (" ".repeat(before), " ".repeat(after));
    let _ = writeln!(out, "{indent}{first}{before}{middle}{after}{last}");
}

/// Whose lines they are, with their last numbers.
fn write_legend(out: &mut String, drawn: &[&Series], letters: bool, columns: usize, paint: Paint) {
    let numbers: Vec<String> = drawn
        .iter()
        .map(|series| series.last().map_or(String::new(), |last| readable(last, Unit::None)))
        .collect();
    let widest = numbers.iter().map(|number| terminal::width(number)).max().unwrap_or(0);
    for (nth, (series, number)) in drawn.iter().zip(&numbers).enumerate() {
        let mark = if letters { letter(nth).to_string() } else { "━".to_owned() };
        let name = terminal::fit(&text_of(series), columns.saturating_sub(widest + 4));
        let number = terminal::pad_left(number, widest);
        let _ = writeln!(out, "{} {number}  {name}", paint.nth(nth, &mark));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(job: &str, numbers: &[f64]) -> Series {
        let points = numbers.iter().enumerate();
        Series {
            labels: [("job".to_owned(), job.to_owned())].into(),
            points: points.map(|(nth, number)| (nth as i64 * 60_000_000_000, *number)).collect(),
            histograms: Vec::new(),
        }
    }

    fn moments(minutes: i64) -> Moments {
        Moments::over(0, minutes * 60_000, 60_000)
    }

    #[test]
    fn a_line_rises_from_its_least_to_its_most() {
        let numbers: Vec<f64> = (0..=60).map(f64::from).collect();
        let found = Found::Series(vec![series("a", &numbers)]);
        let text = draw(&found, &moments(60), 46, Paint::none()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("60 ┤") && lines[0].ends_with("⢀⠤⠊"), "{text}");
        assert_eq!(lines[15], " 0 ┤⡠⠔⠉");
        assert_eq!(lines[16], format!("   └{}", "─".repeat(42)));
        assert_eq!(lines[17], "    00:00:00         00:30:00         01:00:00");
        assert_eq!(lines[18], "━ 60  {job=\"a\"}");
        assert_eq!(lines.len(), 19);
    }

    #[test]
    fn series_without_colours_have_letters_and_gaps_stay_gaps() {
        let mut gap = series("gap", &[5.0; 30]);
        gap.points.drain(10..20);
        let found = Found::Series(vec![gap, series("b", &[10.0; 30])]);
        let text = draw(&found, &moments(29), 64, Paint::none()).unwrap();
        assert!(text.lines().next().unwrap().contains("aaaaaaaa"), "{text}");
        let bottom = text.lines().nth(15).unwrap();
        assert!(bottom.contains("bbbb  ") && bottom.ends_with("bbbb"), "{text}");
        assert!(text.contains("a 10  {job=\"b\"}\nb  5  {job=\"gap\"}\n"), "{text}");
    }

    #[test]
    fn odd_numbers_are_drawn_or_said_to_be_none() {
        for numbers in [
            vec![0.0],
            vec![-7.0, -7.0],
            vec![f64::MAX, f64::MIN],
            vec![1e-300, 1e300],
            vec![f64::NAN, 3.0, f64::INFINITY],
        ] {
            let found = Found::Series(vec![series("a", &numbers)]);
            let text = draw(&found, &moments(2), 10, Paint::none()).unwrap();
            assert!(text.chars().any(|c| ('\u{2801}'..='\u{28ff}').contains(&c)), "{text}");
        }
        let nothing = Found::Series(vec![series("a", &[f64::NAN])]);
        assert_eq!(draw(&nothing, &moments(1), 80, Paint::none()).unwrap(), "nothing to draw\n");
        assert!(draw(&Found::Text(0, "x".into()), &moments(1), 80, Paint::none()).is_err());
    }

    #[test]
    fn the_largest_are_drawn_and_the_others_counted() {
        let all = (0..20).map(|nth| series(&nth.to_string(), &[f64::from(nth)])).collect();
        let text = draw(&Found::Series(all), &moments(1), 80, Paint::none()).unwrap();
        assert!(text.contains("a 19  ") && !text.contains("{job=\"7\"}"), "{text}");
        assert!(text.contains("8 more series are smaller"), "{text}");
    }
}
