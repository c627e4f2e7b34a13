//! What the numbers of XID errors mean, in a few words. NVIDIA's documentation has the rest.

/// What a number means; nothing for those that say little by themselves.
pub(super) fn text(number: u64) -> &'static str {
    match number {
        0 => "no error",
        8 => "GPU does not go on",
        13 => "fault of a program in the graphics engine",
        31 => "program used memory that is not its own",
        32 => "broken commands to the GPU",
        38 => "fault of the driver's firmware",
        43 => "program does not go on",
        45 => "program was ended early",
        48 => "memory error of two bits",
        56 | 58 | 73 => "fault of an engine for video or display",
        57 => "memory interface could not be set up",
        61 | 62 => "controller of the GPU halted",
        63 => "memory page or row will be replaced",
        64 => "memory page or row could not be replaced",
        65 => "fault of the video processor",
        66 | 67 => "driver and GPU disagree",
        68 => "fault of the video decoder",
        69 => "fault of the graphics engine's class",
        74 => "fault of an NVLink",
        79 => "GPU has fallen off the bus",
        92 => "many memory errors of one bit",
        94 => "memory error, limited to one program",
        95 => "memory error, not limited to one program",
        109 => "program was switched too slowly",
        110 => "security fault",
        119 | 120 => "GPU system processor does not answer",
        121 | 122 => "fault of a chip-to-chip link or of its flash memory",
        140 => "memory errors that could not be corrected",
        143 => "GPU could not be set up",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_people_ask_about_have_words() {
        assert_eq!(text(79), "GPU has fallen off the bus");
        assert_eq!(text(u64::MAX), "");
    }
}
