//! A stash as a whole, and the bytes that all parsers are tried with.

use super::*;
use crate::attributes::Value;

/// Hands on a fixture in some thousands of broken forms: cut at every place, and with bytes
/// replaced, removed, repeated and put in. They are the same in every run.
pub(super) fn mutations(fixture: &str, mut parse: impl FnMut(Vec<u8>)) {
    const ODD: &[u8] = b"\0\t\n\r \"'()-/0=9<>[]{}&;,.#\x1b\x7f\x80\xc3\xef\xff";
    let bytes = fixture.as_bytes();
    (0..=bytes.len()).for_each(|end| parse(bytes[..end].to_vec()));
    (0..bytes.len()).for_each(|start| parse(bytes[start..].to_vec()));

    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % limit as u64) as usize
    };
    for _ in 0..3_000 {
        let mut mutated = bytes.to_vec();
        for _ in 0..=random(4) {
            let place = random(mutated.len());
            match random(4) {
                0 => mutated[place] = ODD[random(ODD.len())],
                1 => mutated.insert(place, ODD[random(ODD.len())]),
                2 => mutated.truncate(place.max(1)),
                _ => {
                    let end = (place + random(40)).min(mutated.len());
                    let part = mutated[place..end].to_vec();
                    let target = random(mutated.len());
                    mutated.splice(target..target, part);
                }
            }
        }
        parse(mutated);
    }
}

fn write(folder: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

#[test]
fn everything_that_a_job_leaves_finds_its_place() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        &[
            ("attrs", "git.ref=main\n"),
            ("telemetry-env-vars", "OTEL_SERVICE_NAME=pr\n"),
            ("traceparent", "00-ab-cd-01\r\n"),
            ("extra/attrs", "not=this\n"),
            ("mine.attrs", "answer=42\n"),
            ("sccache-stats.txt", "Compile requests 2\nCache hits 1\nCache misses 1\n"),
            (".ninja_log", "# ninja log v5\n0\t5\t0\ta.o\t1\n"),
            ("reports/unit.xml", "<testsuite><testcase name='t' time='1'/></testsuite>"),
            ("coverage.xml", "<coverage/>"),
            ("pytest.log", "cut off\n"),
            ("dist/x-1.0-py3-none-any.whl", "1234"),
            ("notes.txt", "whatever"),
        ],
    );
    let mut warnings = Warnings::new();
    let stash = read(folder.path(), &mut warnings);
    assert!(warnings.all().is_empty(), "{warnings:?}");
    assert_eq!(stash.resource, [("git.ref", "main")].into_iter().collect());
    assert_eq!(service(folder.path()).as_deref(), Some("pr"));
    assert_eq!(stash.traceparent.as_deref(), Some("00-ab-cd-01"));
    assert_eq!(stash.job.get("answer"), Some(&Value::Int(42)));
    assert_eq!(stash.job.get("package.x.size_bytes"), Some(&Value::Int(4)));
    assert_eq!(stash.build.get("sccache.main_process.hit_rate"), Some(&Value::Double(0.5)));
    assert_eq!(stash.build.get("ninja.targets"), Some(&Value::Int(1)));
    assert_eq!(stash.test.get("test.count"), Some(&Value::Int(1)));
    assert_eq!((stash.targets.len(), stash.tests.len()), (1, 1));
}

#[test]
fn files_written_on_windows_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let utf16: Vec<u8> =
        "\u{feff}a=1\r\nb=2\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    std::fs::write(folder.path().join("attrs"), utf16).unwrap();
    std::fs::write(folder.path().join("x.attrs"), "\u{feff}c=3\r\n").unwrap();
    let stash = read(folder.path(), &mut Warnings::new());
    assert_eq!(stash.resource, [("a", "1"), ("b", "2")].into_iter().collect());
    assert_eq!(stash.job, [("c", 3_i64)].into_iter().collect());
}

#[test]
fn the_output_of_pytest_counts_only_where_there_is_no_report() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        &[("pytest.txt", "=== 3 passed in 1.00s ===\n"), ("none.xml", "<testsuites/>")],
    );
    let stash = read(folder.path(), &mut Warnings::new());
    assert_eq!(stash.test.get("test.count"), Some(&Value::Int(3)));
    write(folder.path(), &[("unit.xml", "<testsuite><testcase name='t'/></testsuite>")]);
    let stash = read(folder.path(), &mut Warnings::new());
    assert_eq!(stash.test.get("test.count"), Some(&Value::Int(1)));
}

#[test]
fn no_directory_is_an_empty_stash_without_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let mut warnings = Warnings::new();
    let stash = read(&folder.path().join("none"), &mut warnings);
    assert!(stash.resource.is_empty() && stash.tests.is_empty());
    assert_eq!(stash.traceparent, None);
    assert!(warnings.all().is_empty());
}

#[test]
fn a_file_that_cannot_be_understood_costs_no_other() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        &[
            ("a.xml", "<testsuite><testcase name='t'/>"),
            ("b.xml", "<testsuite><testcase name='u'/></testsuite>"),
            ("sccache-stats.txt", "error: unexpected argument\n"),
            ("traceparent", " \n"),
        ],
    );
    let mut warnings = Warnings::new();
    let stash = read(folder.path(), &mut warnings);
    assert_eq!(stash.tests.len(), 2);
    assert_eq!(stash.traceparent, None);
    assert!(stash.build.is_empty());
    assert_eq!(warnings.all().len(), 2, "{warnings:?}");
    assert!(warnings.all().iter().any(|warning| warning.contains("a.xml: the report is cut off")));
}

#[test]
fn lines_of_attrs_are_read_as_the_script_reads_them() {
    let text = "git.ref=refs/heads/x\nquoted=\"v\"\n\nbroken\n b =  a=b \r\nquotes=\"\"a\" \"\n\
        empty=\n=lost\nold=mac\rgit.ref=new\nsep=\u{1c}x\u{1f}\n";
    let mut warnings = Warnings::new();
    let pairs = key_values(text, "attrs", &mut warnings);
    let expected = [
        ("git.ref", "new"),
        ("quoted", "v"),
        (" b ", "a=b"),
        ("quotes", "a\" "),
        ("empty", ""),
        ("old", "mac"),
        ("sep", "x"),
    ];
    let expected: Vec<_> =
        expected.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    assert_eq!(pairs, expected);
    assert_eq!(
        warnings.all(),
        ["attrs: line 4 has no '='", "attrs: line 8 has nothing before its '='"]
    );
}

#[test]
fn more_names_than_the_limit_are_left_out_and_said() {
    let text: String = (0..MAX_KEY_VALUES + 100).map(|number| format!("k{number}=v\n")).collect();
    let mut warnings = Warnings::new();
    assert_eq!(key_values(&text, "attrs", &mut warnings).len(), MAX_KEY_VALUES);
    assert!(warnings.all().last().unwrap().contains("95 more lines"), "{warnings:?}");
}

#[test]
fn nothing_that_a_file_holds_makes_the_parser_panic() {
    mutations("git.ref=\"x\"\nbroken\n=\na=b=c\n", |bytes| {
        key_values(&crate::text::decode(&bytes), "attrs", &mut Warnings::new());
    });
}
