//! How much a file of JSON takes once it is read, told before it is: what is written in a few bytes takes
//! hundreds in memory.

use crate::error::TraceError;
use crate::limits::{UPLOAD_MAX_OBJECTS, UPLOAD_MAX_VALUES};

/// Refuses a file with more objects or values than can be read.
pub(super) fn check(file: &[u8]) -> Result<(), TraceError> {
    check_within(file, UPLOAD_MAX_OBJECTS, UPLOAD_MAX_VALUES)
}

fn check_within(file: &[u8], most_objects: usize, most_values: usize) -> Result<(), TraceError> {
    let (mut objects, mut values) = (0, 0);
    let (mut is_text, mut is_escaped) = (false, false);
    for byte in file {
        if is_text {
            is_text = is_escaped || *byte != b'"';
            is_escaped = !is_escaped && *byte == b'\\';
            continue;
        }
        match byte {
            b'"' => is_text = true,
            b'{' => objects += 1,
            // Whatever follows the first of a list or an object follows a comma.
            b'[' | b',' => values += 1,
            _ => {}
        }
    }
    let refused = |parts, most| Err(TraceError::TooManyParts { parts, most });
    if objects > most_objects {
        return refused("objects", most_objects);
    }
    if objects + values > most_values {
        return refused("values", most_values);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_and_values_are_counted_and_texts_are_not() {
        let file = br#"[{"a": "{\\\"{[,"}, {}, {"b": [1, 2, 3]}]"#;
        assert!(check_within(file, 3, 9).is_ok());
        for (objects, values, word) in [(2, 9, "2 objects"), (3, 8, "8 values")] {
            let error = check_within(file, objects, values).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
