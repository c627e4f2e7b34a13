//! Where targets come from: lists, files, servers.

use std::path::Path;
use std::time::Duration;

use serde_saphyr::Spanned;

use super::check::Source;
use super::error::ConfigError;
use super::http::HttpSettings;
use super::{FileDiscovery, HttpDiscovery, StaticTargets, raw};

const FILE_REFRESH: Duration = Duration::from_secs(300);
const HTTP_REFRESH: Duration = Duration::from_secs(60);

/// `static_configs`.
pub(super) fn lists(
    source: &Source<'_>,
    found: Option<Vec<Spanned<raw::StaticConfig>>>,
) -> Result<Vec<StaticTargets>, ConfigError> {
    let mut all = Vec::new();
    for found in found.into_iter().flatten() {
        let mut targets = Vec::new();
        for target in found.value.targets.into_iter().flatten() {
            if target.value.contains('/') {
                let message = format!("{:?} is not a valid hostname", target.value);
                return Err(source.refuse(target.referenced, message));
            }
            targets.push(target.value);
        }
        all.push(StaticTargets { targets, labels: found.value.labels.unwrap_or_default() });
    }
    Ok(all)
}

/// `file_sd_configs`.
pub(super) fn files(
    source: &Source<'_>,
    found: Option<Vec<Spanned<raw::FileSd>>>,
) -> Result<Vec<FileDiscovery>, ConfigError> {
    let mut all = Vec::new();
    for found in found.into_iter().flatten() {
        let (at, found) = (found.referenced, found.value);
        let mut files = Vec::new();
        for file in found.files.into_iter().flatten() {
            let path = Path::new(&file.value);
            let extension = path.extension().and_then(|extension| extension.to_str());
            let is_known =
                matches!(extension, Some("json" | "yml" | "yaml" | "JSON" | "YML" | "YAML"));
            // One star, in the file's name.
            let has_wild_directory =
                path.parent().is_some_and(|directory| directory.to_string_lossy().contains('*'));
            if !is_known || has_wild_directory {
                let message = format!(
                    "path name {:?} is not valid for file discovery; expected a name that ends in \
                     .yml, .yaml or .json, with * in its last part at most",
                    file.value
                );
                return Err(source.refuse(file.referenced, message));
            }
            files.push(source.directory.join(path));
        }
        if files.is_empty() {
            let message = "file service discovery config must contain at least one path name";
            return Err(source.refuse(at, message));
        }
        let given = source.duration(&found.refresh_interval)?.filter(|given| !given.is_zero());
        all.push(FileDiscovery { files, refresh_interval: given.unwrap_or(FILE_REFRESH) });
    }
    Ok(all)
}

/// `http_sd_configs`.
pub(super) fn servers(
    source: &Source<'_>,
    found: Option<Vec<Spanned<raw::HttpSd>>>,
) -> Result<Vec<HttpDiscovery>, ConfigError> {
    let mut all = Vec::new();
    for found in found.into_iter().flatten() {
        let (at, mut found) = (found.referenced, found.value);
        let url = found.url.take().unwrap_or_default();
        if url.is_empty() {
            return Err(source.refuse(at, "URL is missing"));
        }
        // It may hold a password, so it is not quoted.
        let parsed = reqwest::Url::parse(&url)
            .map_err(|error| source.refuse(at, format!("url is wrong: {error}")))?;
        if !matches!(parsed.scheme(), "http" | "https") {
            return Err(source.refuse(at, "URL scheme must be 'http' or 'https'"));
        }
        let given = source.duration(&found.refresh_interval)?.filter(|given| !given.is_zero());
        let http = HttpSettings::from_raw(source.file, source.directory, found.http())?;
        all.push(HttpDiscovery { url, refresh_interval: given.unwrap_or(HTTP_REFRESH), http });
    }
    Ok(all)
}
