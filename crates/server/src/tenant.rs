//! Whose a request is: the header `X-Scope-OrgID`, as Tempo, Loki and Mimir have it.

use http::HeaderMap;
use kymo_admit::check_tenant;
use kymo_engine::Tenants;

use crate::limits::MAX_TENANTS;

/// The header.
pub(crate) const HEADER: &str = "x-scope-orgid";
/// What stands between several.
const BAR: char = '|';
/// Who asks without the header.
pub(crate) const DEFAULT: &str = "default";

/// The tenant that a request is from who sends something, or why it cannot be one.
pub(crate) fn of(headers: &HeaderMap) -> Result<&str, String> {
    let name = header(headers)?;
    if name.contains(BAR) {
        return Err(format!(
            "X-Scope-OrgID names several tenants ({name}): they can be read together, but what is \
             sent belongs to one"
        ));
    }
    checked(name).map_err(|why| format!("X-Scope-OrgID: {why}"))
}

/// The tenants that a request wants to read from, or why they cannot be.
pub(crate) fn readable(headers: &HeaderMap) -> Result<Tenants, String> {
    joined_tenants(header(headers)?).map_err(|why| format!("X-Scope-OrgID: {why}"))
}

/// Tenants that are to be read together, their names joined by bars; or why they cannot be.
pub fn joined_tenants(names: &str) -> Result<Tenants, String> {
    let names = names.split(BAR);
    let count = names.clone().count();
    if count > MAX_TENANTS {
        return Err(format!("{count} tenants are named, at most {MAX_TENANTS} are read together"));
    }
    let names: Result<Vec<String>, String> =
        names.map(|name| checked(name.trim()).map(str::to_owned)).collect();
    Ok(Tenants::new(names?))
}

fn header(headers: &HeaderMap) -> Result<&str, String> {
    let Some(value) = headers.get(HEADER) else { return Ok(DEFAULT) };
    let name = value.to_str().map_err(|_| {
        format!("the header X-Scope-OrgID must be printable ASCII, it is {value:?}")
    })?;
    Ok(if name.trim().is_empty() { DEFAULT } else { name.trim() })
}

fn checked(name: &str) -> Result<&str, String> {
    check_tenant(name).map_err(|why| format!("the tenant's name {why}"))?;
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

    #[test]
    fn several_tenants_can_be_read_each_once() {
        let names = |value: &str| {
            let tenants = readable(&headers(value))?;
            Ok::<_, String>(tenants.names().map(str::to_owned).collect::<Vec<_>>())
        };
        assert_eq!(names("").unwrap(), ["default"]);
        assert_eq!(names("b | a|b").unwrap(), ["a", "b"]);
        assert!(names("a||b").unwrap_err().contains("is empty"));
        assert!(names("a|").unwrap_err().contains("is empty"));
        let many: Vec<String> = (0..=MAX_TENANTS).map(|number| number.to_string()).collect();
        assert!(names(&many.join("|")).unwrap_err().contains("at most"));
    }
}
