//! Whose a request is: the header `X-Scope-OrgID`, as Tempo, Loki and Mimir have it.

use http::HeaderMap;
use kymo_admit::check_tenant;

/// The header.
const HEADER: &str = "x-scope-orgid";
/// Who asks without the header.
pub(crate) const DEFAULT: &str = "default";

/// The tenant that a request names, or why it cannot be one.
pub(crate) fn of(headers: &HeaderMap) -> Result<&str, String> {
    let Some(value) = headers.get(HEADER) else { return Ok(DEFAULT) };
    let name = value.to_str().map_err(|_| {
        format!("the header X-Scope-OrgID must be printable ASCII, it is {value:?}")
    })?;
    let name = name.trim();
    if name.is_empty() {
        return Ok(DEFAULT);
    }
    if name.contains('|') {
        return Err(format!(
            "X-Scope-OrgID names several tenants ({name}); one at a time can be used here"
        ));
    }
    check_tenant(name).map_err(|why| format!("the tenant's name in X-Scope-OrgID {why}"))?;
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(HEADER, value.parse().unwrap());
        headers
    }

    #[test]
    fn a_request_without_header_belongs_to_the_default_tenant() {
        assert_eq!(of(&HeaderMap::new()), Ok("default"));
        assert_eq!(of(&headers("")), Ok("default"));
        assert_eq!(of(&headers(" ml ")), Ok("ml"));
    }

    #[test]
    fn a_name_that_cannot_be_a_path_is_refused() {
        assert!(of(&headers(&"x".repeat(65))).unwrap_err().contains("65 bytes"));
        assert!(of(&headers("a|b")).unwrap_err().contains("several"));
    }
}
