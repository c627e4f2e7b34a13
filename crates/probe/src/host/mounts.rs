//! What is mounted, and how full it is.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// One line of `mountinfo`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mount {
    pub(super) device: String,
    pub(super) fs_type: String,
    /// Where it is, as text.
    pub(super) point: String,
    /// The same as the kernel has it.
    pub(super) path: PathBuf,
    pub(super) major: String,
    pub(super) minor: String,
    pub(super) is_read_only: bool,
}

impl Mount {
    /// Reads one line; none if it is not as the kernel writes it.
    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        let fields = line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
        let mut fields = fields.skip(2);
        let numbers = text(fields.next()?);
        let (major, minor) = numbers.split_once(':')?;
        let path = unescape(fields.nth(1)?);
        let options = fields.next()?;
        // Optional fields end with a lone dash.
        let mut fields = fields.skip_while(|field| *field != b"-").skip(1);
        let fs_type = text(fields.next()?);
        let device = unescape(fields.next()?);
        let super_options = fields.next().unwrap_or_default();
        Some(Self {
            device: text(&device),
            fs_type,
            point: text(&path),
            path: PathBuf::from(OsStr::from_bytes(&path)),
            major: major.to_owned(),
            minor: minor.to_owned(),
            is_read_only: is_read_only(options) || is_read_only(super_options),
        })
    }

    /// Whether it may take for ever to answer: all but those that are known to be of this machine
    /// alone, as there is always one more network file system than a list has.
    pub(super) fn may_hang(&self) -> bool {
        const LOCAL: [&str; 25] = [
            "bcachefs", "btrfs", "efivarfs", "exfat", "ext2", "ext3", "ext4", "f2fs", "hfs",
            "hfsplus", "jffs2", "jfs", "minix", "msdos", "nilfs2", "ntfs", "ntfs3", "ramfs",
            "reiserfs", "tmpfs", "ubifs", "udf", "vfat", "xfs", "zfs",
        ];
        !LOCAL.contains(&self.fs_type.as_str())
    }
}

/// The kernel turns a file system that is damaged into one that is read-only in an emergency.
fn is_read_only(options: &[u8]) -> bool {
    let mut options = options.split(|byte| *byte == b',');
    options.any(|option| matches!(option, b"ro" | b"emergency_ro"))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The kernel writes white space and backslashes as three octal digits.
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, after)) = rest.split_first() {
        let octal = match after {
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] if first == b'\\' => {
                Some((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'))
            }
            _ => None,
        };
        bytes.push(octal.unwrap_or(first));
        rest = if octal.is_some() { after.get(3..).unwrap_or_default() } else { after };
    }
    bytes
}

/// How full a file system is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fill {
    pub(super) size_bytes: f64,
    pub(super) free_bytes: f64,
    pub(super) available_bytes: f64,
    pub(super) files: f64,
    pub(super) files_free: f64,
}

/// What a file system said, or why it did not, in a few words.
pub(super) type Answer = Result<Fill, String>;

/// Asks a file system that is here.
pub(super) fn ask(point: &Path) -> Answer {
    let stat = rustix::fs::statvfs(point).map_err(reason)?;
    let block_bytes = stat.f_frsize as f64;
    Ok(Fill {
        size_bytes: stat.f_blocks as f64 * block_bytes,
        free_bytes: stat.f_bfree as f64 * block_bytes,
        available_bytes: stat.f_bavail as f64 * block_bytes,
        files: stat.f_files as f64,
        files_free: stat.f_ffree as f64,
    })
}

/// What the kernel said, as node-exporter writes it: in lower case, without its number.
fn reason(error: rustix::io::Errno) -> String {
    let text = error.to_string();
    let words = text.split_once(" (os error").map_or(text.as_str(), |(words, _)| words);
    let mut letters = words.chars();
    letters.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_optional_fields_and_spaces_is_read() {
        let line = b"36 35 98:0 /mnt1 /mnt/my\\040disk ro,noatime master:1 shared:2 - ext3 \
            /dev/root rw,errors=continue";
        let mount = Mount::parse(line).unwrap();
        assert_eq!(mount.point, "/mnt/my disk");
        assert_eq!(mount.path, Path::new("/mnt/my disk"));
        assert_eq!((mount.device.as_str(), mount.fs_type.as_str()), ("/dev/root", "ext3"));
        assert_eq!((mount.major.as_str(), mount.minor.as_str()), ("98", "0"));
        assert!(mount.is_read_only && !mount.may_hang());
        assert_eq!(Mount::parse(b"36 35 98:0 /"), None);
        assert_eq!(Mount::parse(b""), None);
    }

    #[test]
    fn a_damaged_file_system_is_read_only_and_an_unknown_one_may_hang() {
        let mount = |rest: &str| Mount::parse(format!("1 0 8:1 / / {rest}").as_bytes()).unwrap();
        assert!(mount("rw - ext4 /dev/sda rw,emergency_ro").is_read_only);
        assert!(mount("rw - ext4 /dev/sda ro").is_read_only);
        assert!(!mount("rw - ext4 /dev/sda rw,errors=remount-ro").is_read_only);
        for fs_type in ["nfs4", "fuse.sshfs", "wekafs"] {
            assert!(mount(&format!("rw - {fs_type} x rw")).may_hang(), "{fs_type}");
        }
    }
}
