//! Sizes of the packages that a job built: of those that lie in the stash themselves, and of those
//! that a list tells of.
//!
//! A list (`package-sizes*.txt`) has a size in bytes and a path in each line, as `du -b`, `wc -c` and
//! `stat -c '%s %n'` print them, or a path and then its size, with a tab, two spaces or `=` between
//! them. Sums in it (the `total` of `wc`, the directories of `du`) are left out.
//!
//! | attribute | what it is |
//! |---|---|
//! | `package.<name>.size_bytes` | the size of a package; of several of that name, their sum |
//! | `package.count`, `package.total_size_bytes` | how many there are, and the sum of all |
//!
//! The name is without version and build: with them, every build would bring names of attributes
//! that no build had before, without end, and none could be followed over time.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use super::folder::StashFile;
use super::limits::MAX_PACKAGES;
use super::text::{BadLines, bounded_name, in_one_line, numbered_lines};
use crate::attributes::Attributes;
use crate::warnings::Warnings;

/// Ends of the names of packages.
const PACKAGES: [&str; 7] = [".whl", ".conda", ".tar.bz2", ".tar.gz", ".deb", ".rpm", ".zip"];

/// Whether a file is a package or a list of them, by its name.
pub(super) fn is_file_name(name: &str) -> bool {
    is_list(name) || PACKAGES.iter().any(|end| name.ends_with(end))
}

fn is_list(name: &str) -> bool {
    name.starts_with("package-sizes") && name.ends_with(".txt")
}

/// The attributes of all packages, for the job.
pub(super) fn read(folder: &Path, files: &[&StashFile], warnings: &mut Warnings) -> Attributes {
    let (lists, packages): (Vec<&StashFile>, Vec<&StashFile>) =
        files.iter().copied().partition(|file| is_list(file.name()));
    let mut sizes = Sizes::default();
    for package in &packages {
        sizes.add(package.name(), package.size_bytes);
    }
    // A list is often of the very packages that lie beside it.
    let at_hand: HashSet<&str> = packages.iter().map(|package| package.name()).collect();
    for list in lists {
        let Some(text) = list.text(warnings) else { continue };
        for (path, size_bytes) in entries(&text, &list.shown(), warnings) {
            let name = file_name(path);
            if !at_hand.contains(name) {
                sizes.add(name, size_bytes);
            }
        }
    }
    if sizes.left_out > 0 {
        let shown = in_one_line(&folder.to_string_lossy());
        let left_out = sizes.left_out;
        warnings
            .add(format!("{shown}: {left_out} packages are in the total alone, as there are many"));
    }
    sizes.attributes()
}

#[derive(Debug, Default)]
struct Sizes {
    by_name: BTreeMap<String, u64>,
    count: u64,
    total_bytes: u64,
    left_out: u64,
}

impl Sizes {
    fn add(&mut self, file_name: &str, size_bytes: u64) {
        self.count += 1;
        self.total_bytes = self.total_bytes.saturating_add(size_bytes);
        let name = bounded_name(distribution(file_name));
        if self.by_name.len() == MAX_PACKAGES && !self.by_name.contains_key(&name) {
            self.left_out += 1;
            return;
        }
        let sum = self.by_name.entry(name).or_default();
        *sum = sum.saturating_add(size_bytes);
    }

    fn attributes(&self) -> Attributes {
        let mut attributes = Attributes::new();
        if self.count == 0 {
            return attributes;
        }
        attributes.set("package.count", self.count);
        attributes.set("package.total_size_bytes", self.total_bytes);
        for (name, size_bytes) in &self.by_name {
            attributes.set(format!("package.{name}.size_bytes"), *size_bytes);
        }
        attributes
    }
}

/// The files of a list with their sizes, without sums.
fn entries<'a>(text: &'a str, file: &str, warnings: &mut Warnings) -> Vec<(&'a str, u64)> {
    let mut entries = Vec::new();
    let mut bad = BadLines::new(file, warnings);
    for (number, line) in numbered_lines(text) {
        match entry(line.trim()) {
            Some(entry) => entries.push(entry),
            None if line.trim().is_empty() => {}
            None => bad.add(number, "has no size in bytes beside a path"),
        }
    }
    bad.finish();
    let directories: HashSet<&str> =
        entries.iter().flat_map(|(path, _)| directories_of(path)).collect();
    entries.retain(|(path, _)| {
        let path = path.trim_end_matches('/');
        !matches!(path, "" | "." | "total") && !directories.contains(path)
    });
    entries
}

/// One line of a list.
fn entry(line: &str) -> Option<(&str, u64)> {
    let size_first = line.split_once(char::is_whitespace);
    if let Some((size, path)) = size_first.filter(|(size, _)| is_number(size)) {
        return Some((path.trim(), size.parse().ok()?));
    }
    let is_digit = |character: char| character.is_ascii_digit();
    let rest = line.trim_end_matches(is_digit);
    let size = line.get(rest.len()..).filter(|size| is_number(size))?;
    let is_separated = rest.ends_with(['\t', '=']) || rest.ends_with("  ") || rest.ends_with("= ");
    let path = rest.trim_end().trim_end_matches('=').trim_end();
    (is_separated && !path.is_empty()).then_some((path, size.parse().ok()?))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// All directories that a path leads through.
fn directories_of(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').filter_map(|(index, _)| path.get(..index))
}

fn file_name(path: &str) -> &str {
    path.trim_end_matches('/').rsplit(['/', '\\']).next().unwrap_or(path)
}

/// What a package is called without its version, its build and its platform.
fn distribution(file_name: &str) -> &str {
    let (stem, end) = PACKAGES
        .iter()
        .find_map(|end| Some((file_name.strip_suffix(end)?, *end)))
        .unwrap_or((file_name, ""));
    let name = match end {
        // name-version-python-abi-platform; a dash in the name is written as an underscore.
        ".whl" => stem.split('-').next(),
        // name-version-build
        ".conda" => without_last_two(stem),
        // name_version_architecture
        ".deb" => stem.split('_').next(),
        // name-version-release.architecture
        ".rpm" => without_last_two(stem.rsplit_once('.').map_or(stem, |(stem, _)| stem)),
        // The older form of conda's packages, and of many others.
        ".tar.bz2" if stem.rsplit('-').nth(1).is_some_and(is_version) => without_last_two(stem),
        _ => before_version(stem),
    };
    name.filter(|name| !name.is_empty()).unwrap_or(stem)
}

fn without_last_two(stem: &str) -> Option<&str> {
    stem.rsplitn(3, '-').nth(2)
}

/// What stands before the first part that is a version. Behind it are builds and platforms.
fn before_version(stem: &str) -> Option<&str> {
    let ends = stem.match_indices(['-', '_']).map(|(index, _)| index);
    ends.filter_map(|end| stem.split_at_checked(end))
        .find(|(_, rest)| match rest.split_at_checked(1) {
            Some(("-", part)) => is_version(part),
            // Behind an underscore a number alone may be of a platform, `x86_64`.
            Some((_, part)) => is_version(part) && part.contains('.'),
            None => false,
        })
        .map(|(name, _)| name)
}

/// Whether a text begins as versions do: `24.02`, `v1`. Not `64bit`.
fn is_version(text: &str) -> bool {
    let digits = text.strip_prefix(['v', 'V']).unwrap_or(text);
    let after = digits.trim_start_matches(|character: char| character.is_ascii_digit());
    after.len() < digits.len() && !after.starts_with(char::is_alphabetic)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attributes::Value;

    const LIST: &str = "\
  1000 dist/cudf_cu12-24.2.0-cp310-cp310-linux_x86_64.whl\r
2000\tdist/cudf_cu12-24.2.0-cp311-cp311-linux_x86_64.whl
3000 dist/my package_1.0_amd64.deb
  6000 total
6100\tdist
7000\t.
conda/libcudf-24.02.00-cuda12_0.conda\t4000
conda/libother-1.0-0.tar.bz2  5000
tool.tar.gz=600
plain.so = 70
";

    #[test]
    fn packages_are_called_without_what_changes_from_build_to_build() {
        for (file, name) in [
            ("cudf_cu12-24.2.0-cp310-cp310-manylinux_x86_64.whl", "cudf_cu12"),
            ("libcudf-24.02.00a123-cuda12_240101_gabc_5.conda", "libcudf"),
            ("libcudf-tests-24.02.00-cuda12_0.conda", "libcudf-tests"),
            ("libcudf-24.02.00-cuda12_0.tar.bz2", "libcudf"),
            ("source-1.2.tar.bz2", "source"),
            ("cuda-toolkit_12.9.1-1_amd64.deb", "cuda-toolkit"),
            ("kernel-core-6.1.0-1.fc40.x86_64.rpm", "kernel-core"),
            ("my-tool-v1.2.3-linux-x86_64.tar.gz", "my-tool"),
            ("my_tool_1.2.3.zip", "my_tool"),
            ("tool-linux-x86_64.zip", "tool-linux-x86_64"),
            ("libx.so.1.2", "libx.so.1.2"),
            ("odd.conda", "odd"),
            ("1.2.zip", "1.2"),
            (".whl", ""),
        ] {
            assert_eq!(distribution(file), name, "{file}");
        }
    }

    #[test]
    fn every_form_of_a_line_is_read_and_sums_are_left_out() {
        let mut warnings = Warnings::new();
        let sizes: Vec<_> = entries(LIST, "f", &mut warnings)
            .into_iter()
            .map(|(path, size)| (file_name(path), size))
            .collect();
        let expected = [
            ("cudf_cu12-24.2.0-cp310-cp310-linux_x86_64.whl", 1000),
            ("cudf_cu12-24.2.0-cp311-cp311-linux_x86_64.whl", 2000),
            ("my package_1.0_amd64.deb", 3000),
            ("libcudf-24.02.00-cuda12_0.conda", 4000),
            ("libother-1.0-0.tar.bz2", 5000),
            ("tool.tar.gz", 600),
            ("plain.so", 70),
        ];
        assert_eq!(sizes, expected);
        assert!(warnings.all().is_empty(), "{warnings:?}");
        let odd = "12K\tdist/a.whl\na.whl 5\n=7\n99999999999999999999 a.whl\n";
        assert!(entries(odd, "f", &mut warnings).is_empty());
        assert_eq!(warnings.all().len(), 4, "{warnings:?}");
        assert_eq!(warnings.all()[1], "f: line 2 has no size in bytes beside a path");
    }

    #[test]
    fn packages_at_hand_and_in_a_list_count_once_and_those_of_one_name_are_added_up() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("package-sizes.txt"), LIST).unwrap();
        std::fs::write(folder.path().join("libcudf-24.02.00-cuda12_0.conda"), [0; 9]).unwrap();
        let mut warnings = Warnings::new();
        let files = super::super::folder::files(folder.path(), &mut warnings);
        let files: Vec<_> = files.iter().collect();
        let attributes = read(folder.path(), &files, &mut warnings);
        let size = |name: &str| attributes.get(&format!("package.{name}")).cloned();
        assert_eq!(size("cudf_cu12.size_bytes"), Some(Value::Int(3000)));
        assert_eq!(size("libcudf.size_bytes"), Some(Value::Int(9)));
        assert_eq!(size("count"), Some(Value::Int(7)));
        assert_eq!(size("total_size_bytes"), Some(Value::Int(11_679)));
    }

    #[test]
    fn more_names_than_the_limit_are_in_the_total() {
        let mut sizes = Sizes::default();
        for number in 0..MAX_PACKAGES + 5 {
            sizes.add(&format!("p{number}-1.0-py3-none-any.whl"), 1);
        }
        let attributes = sizes.attributes();
        assert_eq!(attributes.len(), MAX_PACKAGES + 2);
        assert_eq!(sizes.left_out, 5);
        let total = MAX_PACKAGES as u64 + 5;
        assert_eq!(attributes.get("package.total_size_bytes"), Some(&total.into()));
    }

    #[test]
    fn nothing_that_a_file_holds_makes_the_parser_panic() {
        super::super::tests::mutations(LIST, |bytes| {
            let text = crate::text::decode(&bytes);
            let mut sizes = Sizes::default();
            for (path, size_bytes) in entries(&text, "f", &mut Warnings::new()) {
                sizes.add(file_name(path), size_bytes);
            }
            sizes.attributes();
        });
    }
}
