use std::time::Duration;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use rawzip::path::EntryPath;
use rawzip::{Crc32Option, ZipArchiveWriter, ZipFileBuilder};

use super::*;

type Writer = ZipArchiveWriter<Vec<u8>>;

fn zipped(fill: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut writer = ZipArchiveWriter::new(Vec::new());
    fill(&mut writer);
    writer.finish().unwrap()
}

/// Adds a file under the name as it is, however evil.
fn add_deflated(writer: &mut Writer, name: &str, bytes: &[u8]) {
    let file = writer.new_file(EntryPath::verbatim(name.as_bytes()));
    let file = file.compression_method(CompressionMethod::DEFLATE);
    let (mut entry, config) = file.start().unwrap();
    let mut data = config.wrap(DeflateEncoder::new(&mut entry, Compression::default()));
    data.write_all(bytes).unwrap();
    let (encoder, descriptor) = data.finish().unwrap();
    encoder.finish().unwrap();
    entry.finish(descriptor).unwrap();
}

/// Adds a file as it is, whatever method its builder names.
fn add_stored(file: ZipFileBuilder<'_, '_, Vec<u8>>, bytes: &[u8]) {
    let (mut entry, config) = file.start().unwrap();
    let mut data = config.wrap(&mut entry);
    data.write_all(bytes).unwrap();
    let (_, descriptor) = data.finish().unwrap();
    entry.finish(descriptor).unwrap();
}

fn zip_of(files: &[(&str, &[u8])]) -> Vec<u8> {
    zipped(|writer| {
        for (name, bytes) in files {
            add_deflated(writer, name, bytes);
        }
    })
}

fn unpacking() -> Unpacking<'static> {
    Unpacking::new("stash", Instant::now() + Duration::from_secs(60))
}

/// Unpacks into the directory `out` of a new one, and says what was warned of.
fn try_unpack(
    zip: &[u8],
    unpacking: &Unpacking<'_>,
) -> (tempfile::TempDir, Result<(), GitHubError>, Vec<String>) {
    let directory = tempfile::tempdir().unwrap();
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(zip).unwrap();
    let mut warnings = Warnings::new();
    let result = unpack(file, &directory.path().join("out"), unpacking, &mut warnings);
    (directory, result, warnings.all().to_vec())
}

/// Changes the size that the list of entries states for the first one.
fn state_size(zip: &mut [u8], size_bytes: u32) {
    let header = zip.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    zip[header + 24..header + 28].copy_from_slice(&size_bytes.to_le_bytes());
}

#[test]
fn files_and_directories_come_out_as_they_went_in() {
    let long = vec![7; 300_000];
    let zip = zipped(|writer| {
        writer.new_dir("empty/").create().unwrap();
        add_deflated(writer, "a/b/c.txt", &long);
        add_stored(writer.new_file("größe.txt"), b"stored");
    });
    let (directory, result, warnings) = try_unpack(&zip, &unpacking());
    result.unwrap();
    let out = directory.path().join("out");
    assert_eq!(fs::read(out.join("a/b/c.txt")).unwrap(), long);
    assert_eq!(fs::read(out.join("größe.txt")).unwrap(), b"stored");
    assert!(out.join("empty").is_dir());
    assert!(warnings.is_empty(), "{warnings:?}");
}

#[test]
fn entries_that_lead_elsewhere_are_skipped_by_name() {
    let zip =
        zip_of(&[("../evil", b"1"), ("/etc/evil", b"2"), ("a/../evil", b"3"), ("good", b"4")]);
    let link = zipped(|writer| {
        add_stored(writer.new_file("link").unix_permissions(0o120_777), b"/etc/passwd");
    });
    let (directory, result, warnings) = try_unpack(&zip, &unpacking());
    result.unwrap();
    assert_eq!(fs::read(directory.path().join("out/good")).unwrap(), b"4");
    assert_eq!(fs::read_dir(directory.path().join("out")).unwrap().count(), 1);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    for (warning, name) in warnings.iter().zip(["../evil", "/etc/evil", "a/../evil"]) {
        assert!(warning.contains(name), "{warnings:?}");
    }
    let (directory, result, warnings) = try_unpack(&link, &unpacking());
    result.unwrap();
    assert_eq!(fs::read_dir(directory.path().join("out")).unwrap().count(), 0);
    assert_eq!(warnings, ["artifact \"stash\": skipped \"link\", which is a link"]);
}

#[test]
fn what_is_there_twice_is_unpacked_once() {
    let (directory, result, warnings) =
        try_unpack(&zip_of(&[("a/b", b"first"), ("a//b", b"second")]), &unpacking());
    result.unwrap();
    assert_eq!(fs::read(directory.path().join("out/a/b")).unwrap(), b"first");
    assert!(warnings[0].contains("twice"), "{warnings:?}");
    let (_, result, _) = try_unpack(&zip_of(&[("a", b"1"), ("a/b", b"2")]), &unpacking());
    assert!(result.unwrap_err().to_string().contains("same name"));
}

#[test]
fn a_flood_of_warnings_is_counted() {
    let names: Vec<String> = (0..50).map(|index| format!("../{index}")).collect();
    let files: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b""[..])).collect();
    let (_, result, warnings) = try_unpack(&zip_of(&files), &unpacking());
    result.unwrap();
    assert_eq!(warnings.len(), MAX_NAMED_SKIPS + 1);
    assert!(warnings[MAX_NAMED_SKIPS].contains("30 more"), "{warnings:?}");
}

#[test]
fn sizes_and_counts_are_bounded() {
    let zip = zip_of(&[("large", &[0; 1_000]), ("small", &[0; 10])]);
    let mut unpacking = unpacking();
    unpacking.bounds.entry_bytes = 999;
    let (directory, result, warnings) = try_unpack(&zip, &unpacking);
    result.unwrap();
    assert!(warnings[0].contains("\"large\", which is too large"), "{warnings:?}");
    assert!(directory.path().join("out/small").exists());
    unpacking.bounds.entry_bytes = 1_000;
    unpacking.bounds.unpacked_bytes = 1_009;
    let error = try_unpack(&zip, &unpacking).1.unwrap_err();
    assert!(error.to_string().contains("more than 1009 bytes"), "{error}");
    unpacking.bounds.unpacked_bytes = 1_010;
    unpacking.bounds.entries = 1;
    let error = try_unpack(&zip, &unpacking).1.unwrap_err();
    assert!(error.to_string().contains("more than 1 files"), "{error}");
    unpacking.bounds.entries = 2;
    try_unpack(&zip, &unpacking).1.unwrap();
    unpacking.bounds.directory_bytes = 100;
    let error = try_unpack(&zip, &unpacking).1.unwrap_err();
    assert!(error.to_string().contains("list of entries is too long"), "{error}");
}

#[test]
fn a_file_that_lies_about_its_size_is_broken() {
    let mut zip = zip_of(&[("a", &[0; 1_000])]);
    for size_bytes in [0, 10, 999, 1_001] {
        state_size(&mut zip, size_bytes);
        let error = try_unpack(&zip, &unpacking()).1.unwrap_err();
        assert!(matches!(error, GitHubError::BrokenZip { .. }), "{error}");
        assert!(error.to_string().contains("size"), "{error}");
    }
}

#[test]
fn a_file_that_lies_about_its_entries_is_broken() {
    let mut zip = zip_of(&[("a", b"1"), ("b", b"2")]);
    let end = zip.windows(4).position(|bytes| bytes == b"PK\x05\x06").unwrap();
    for (count, lie) in [(1_u16, "more entries"), (3, "fewer entries")] {
        zip[end + 10..end + 12].copy_from_slice(&count.to_le_bytes());
        let error = try_unpack(&zip, &unpacking()).1.unwrap_err();
        assert!(matches!(error, GitHubError::BrokenZip { .. }), "{error}");
        assert!(error.to_string().contains(lie), "{error}");
    }
}

#[test]
fn what_cannot_be_read_says_why() {
    let checksum = zipped(|writer| {
        add_stored(writer.new_file("a").crc32(Crc32Option::Custom(7)), b"some text");
    });
    let encrypted = zipped(|writer| add_stored(writer.new_file("a").encrypted(true), b"secret"));
    let method = zipped(|writer| {
        add_stored(writer.new_file("a").compression_method(CompressionMethod::ZSTD), b"packed");
    });
    for (zip, why) in [(checksum, "checksum"), (encrypted, "encrypted"), (method, "ZSTD")] {
        let error = try_unpack(&zip, &unpacking()).1.unwrap_err();
        assert!(matches!(error, GitHubError::BrokenZip { .. }), "{error}");
        assert!(error.to_string().contains(why), "{error}");
    }
}

#[test]
fn damaged_files_are_errors_that_name_the_artifact() {
    let whole = zip_of(&[("a", b"some text that is long enough to be packed, packed, packed")]);
    let mut flipped = whole.clone();
    flipped[40] ^= 0xff;
    let cases: [&[u8]; 4] = [b"", b"<html>not a zip</html>", &whole[..whole.len() / 2], &flipped];
    for zip in cases {
        let error = try_unpack(zip, &unpacking()).1.unwrap_err();
        assert!(matches!(error, GitHubError::BrokenZip { .. }), "{error:?}");
        assert!(error.to_string().contains("\"stash\""), "{error}");
    }
}

#[test]
fn unpacking_ends_by_the_deadline() {
    let late = Unpacking::new("stash", Instant::now());
    let error = try_unpack(&zip_of(&[("a", b"1")]), &late).1.unwrap_err();
    assert!(matches!(error, GitHubError::Deadline { .. }), "{error}");
}
