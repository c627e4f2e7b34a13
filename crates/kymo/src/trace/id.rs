//! Ids of traces on the command line.

use crate::failure::Failure;

/// 1 to 32 hexadecimal digits. Tools that treat ids as numbers leave out zeros in front.
pub(crate) fn parse(text: &str) -> Result<[u8; 16], Failure> {
    let refused = |why: &str| {
        let shown = crate::units::printable(text);
        Failure::Usage(format!("{shown:?} {why}: a trace id is 1 to 32 hexadecimal digits"))
    };
    if text.is_empty() || text.len() > 32 {
        return Err(refused(&format!("has {} characters", text.chars().count())));
    }
    if !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(refused("is not hexadecimal"));
    }
    match u128::from_str_radix(text, 16) {
        Ok(0) => Err(refused("is zero, which is no trace")),
        Ok(id) => Ok(id.to_be_bytes()),
        Err(_) => Err(refused("is not hexadecimal")),
    }
}

/// All digits of an id.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_in_front_may_be_missing() {
        assert_eq!(parse("5B8efff798038103d269b633813fc60c").unwrap()[0], 0x5b);
        assert_eq!(parse("1a").unwrap(), 0x1a_u128.to_be_bytes());
        assert_eq!(hex(&parse("f").unwrap()), "0000000000000000000000000000000f");
        for bad in ["", "xyz", "+1", "0", "123456789012345678901234567890123", "1 2"] {
            assert!(parse(bad).unwrap_err().to_string().contains("1 to 32"), "{bad}");
        }
    }
}
