//! `concatenate`: all fields of all frames in one frame, side by side.

use super::options::Options;
use super::{Outcome, check_cells, too_many_fields};
use crate::frame::{Field, Frame};
use crate::limits;

pub(super) fn concatenate(options: Options<'_>, frames: &[Frame]) -> Outcome {
    if frames.len() < 2 {
        return Ok(frames.to_vec());
    }
    let width: usize = frames.iter().map(|frame| frame.fields.len()).sum();
    if width > limits::MAX_FIELDS {
        return Err(too_many_fields());
    }
    // Short fields are filled up to the longest.
    check_cells(width * frames.iter().map(Frame::rows).max().unwrap_or(0))?;
    let label = options.text("frameNameLabel").unwrap_or("frame");
    let mode = options.text("frameNameMode").unwrap_or("field");
    let named = |frame: &Frame, field: &Field| {
        let mut field = Field { state: None, ..field.clone() };
        if frame.name.is_empty() {
            return field;
        }
        match mode {
            "drop" => {}
            "label" => _ = field.labels.insert(label.to_owned(), frame.name.clone()),
            _ if field.name.is_empty() || field.name == "Value" => {
                field.name.clone_from(&frame.name);
            }
            _ => field.name = format!("{} · {}", frame.name, field.name),
        }
        field
    };
    let fields = frames.iter().flat_map(|frame| frame.fields.iter().map(move |f| named(frame, f)));
    let mut made = Frame::new(fields.collect());
    made.square();
    Ok(vec![made])
}
