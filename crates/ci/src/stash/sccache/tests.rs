//! Every form of sccache's statistics, and what must come of it.

use super::*;
use crate::attributes::Value;

/// As `--show-stats` prints it, with the languages of the newest version.
const PLAIN: &str = "\
Compile requests                          40
Compile requests executed                 36
Cache hits                                15
Cache hits (C/C++)                         6
Cache hits (CUDA (Device code))            4
Cache hits (CUDA)                          2
Cache hits (PTX)                           3
Cache misses                               5
Cache misses (C/C++)                       2
Cache misses (CUBIN)                       3
Cache hits rate                        75.00 %
Cache hits rate (C/C++)                75.00 %
Cache timeouts                             0
Cache read errors                          7
Cache write errors                         8
Cache errors                               5
Cache errors (C/C++)                       5
Compilations                               5
Compilation failures                       1
Non-cacheable calls                        4
Average cache write                    0.010 s
Average compiler                       1.250 s
Average cache read hit                 0.002 s
Multi-level cache levels                   1
  L0 hits                                 99

Non-cacheable reasons:
-E                                         4

Cache location                  Local disk: \"/c\"
Version (client)                0.17.0
Cache size                               1 MiB
";

/// As `--show-adv-stats` prints it.
const ADVANCED: &str = "\
Compile requests                      20
Cache hits                            10
Cache hits (c [gcc])                   1
Cache hits (c++ [clang])               2
Cache hits (c++ [gcc])                 3
Cache hits (cuda [cudafe++])           1
Cache hits (cuda [nvcc])               2
Cache hits (rust)                      1
Cache misses                           3
Cache misses (c++ [gcc])               1
Cache misses (c++Header [gcc])         2
Cache errors                           0
";

/// As `--stats-format=json` prints it.
const JSON: &str = r#"{"stats":{"compile_requests":9,"requests_not_cacheable":1,
"cache_errors":{"counts":{},"adv_counts":{}},
"cache_hits":{"counts":{"C/C++":3},"adv_counts":{"c [gcc]":1,"c++ [gcc]":2}},
"cache_misses":{"counts":{"C/C++":1},"adv_counts":{"c [gcc]":1}},
"cache_read_hit_duration":{"secs":0,"nanos":6000000},"compilations":2,
"compiler_write_duration":{"secs":3,"nanos":0},"compile_fails":1},
"cache_size":1234,"version":"0.16.0"}"#;

fn attributes_of(stats: Option<Stats>) -> Attributes {
    let mut attributes = Attributes::new();
    stats.unwrap().set("s", &mut attributes);
    attributes
}

fn number(attributes: &Attributes, name: &str) -> Option<f64> {
    attributes.get(name).and_then(Value::as_number)
}

#[track_caller]
fn assert_numbers(attributes: &Attributes, expected: &[(&str, f64)]) {
    for (name, value) in expected {
        assert_eq!(number(attributes, &format!("s.{name}")), Some(*value), "{name}");
    }
}

#[test]
fn the_plain_form_is_counted_by_language_with_rates_of_what_was_looked_up() {
    let attributes = attributes_of(text::parse(PLAIN));
    assert_numbers(
        &attributes,
        &[
            ("requests", 40.0),
            ("hits", 15.0),
            ("misses", 5.0),
            ("errors", 5.0),
            ("hit_rate", 0.75),
            ("miss_rate", 0.25),
            ("error_rate", 0.2),
            ("c/c++.requests", 13.0),
            ("c/c++.hit_rate", 0.75),
            ("cuda_device.hits", 4.0),
            ("cuda.hits", 2.0),
            ("ptx.hits", 3.0),
            ("cubin.misses", 3.0),
            ("cubin.hit_rate", 0.0),
            ("non_cacheable_calls", 4.0),
            ("compile_failures", 1.0),
            ("average_compiler_seconds", 1.25),
            ("average_cache_read_hit_seconds", 0.002),
        ],
    );
    assert_eq!(attributes.text("s.version"), Some("0.17.0"));
    assert!(matches!(attributes.get("s.cubin.hit_rate"), Some(Value::Double(_))));
    assert!(matches!(attributes.get("s.cubin.hits"), Some(Value::Int(0))));
}

#[test]
fn the_advanced_form_adds_compilers_up_and_keeps_c_apart_from_cpp() {
    let attributes = attributes_of(text::parse(ADVANCED));
    assert_numbers(
        &attributes,
        &[
            ("hits", 10.0),
            ("misses", 3.0),
            ("c.hits", 1.0),
            ("c++.hits", 5.0),
            ("c++.misses", 1.0),
            ("c++.gcc.hits", 3.0),
            ("c++.gcc.requests", 4.0),
            ("c++.gcc.hit_rate", 0.75),
            ("c++.clang.hit_rate", 1.0),
            ("c++Header.misses", 2.0),
            ("cuda.hits", 3.0),
            ("cuda.cudafe++.hits", 1.0),
            ("cuda.nvcc.hits", 2.0),
            ("rust.hits", 1.0),
        ],
    );
}

#[test]
fn json_is_counted_once_although_it_has_two_tables() {
    let attributes = attributes_of(json::parse(JSON));
    assert_numbers(
        &attributes,
        &[
            ("requests", 9.0),
            ("hits", 3.0),
            ("misses", 1.0),
            ("hit_rate", 0.75),
            ("c.hit_rate", 0.5),
            ("c++.gcc.hits", 2.0),
            ("cache_size_bytes", 1234.0),
            ("average_compiler_seconds", 1.5),
            ("average_cache_read_hit_seconds", 0.002),
        ],
    );
    assert_eq!(attributes.get("s.c/c++.hits"), None);
    let noisy = format!("warning: {{odd}}\n{JSON}\nbye\n");
    assert_eq!(attributes_of(json::parse(&noisy)), attributes);
}

#[test]
fn json_of_old_versions_has_languages_only_or_not_even_these() {
    let old = r#"{"stats":{"compile_requests":3,"cache_hits":{"counts":{"Rust":2}},
        "cache_misses":{"counts":{"C/C++":2}},"cache_errors":{"counts":{}}}}"#;
    let attributes = attributes_of(json::parse(old));
    assert_numbers(&attributes, &[("hit_rate", 0.5), ("rust.hits", 2.0), ("c/c++.misses", 2.0)]);
    let oldest = r#"{"stats":{"compile_requests":3,"cache_hits":2,"cache_misses":6}}"#;
    assert_numbers(&attributes_of(json::parse(oldest)), &[("hit_rate", 0.25), ("misses", 6.0)]);
}

#[test]
fn a_server_that_was_asked_nothing_has_counts_and_no_rates() {
    let empty = "Compile requests 0\r\nCache hits 0\r\nCache misses 0\r\nCache hits rate -\r\n\
        Average compiler 0.000 s\r\nAverage cache read hit 0.000 s\r\n";
    let attributes = attributes_of(text::parse(empty));
    let names: Vec<_> = attributes.iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["s.requests", "s.hits", "s.misses", "s.errors"]);
}

#[test]
fn lines_that_only_begin_like_a_count_are_none() {
    let text = "Compile requests 5\nCache hits 2\nCache hits elsewhere 40\nCache misses 6\n";
    assert_numbers(&attributes_of(text::parse(text)), &[("hits", 2.0), ("hit_rate", 0.25)]);
}

#[test]
fn the_last_of_several_answers_in_one_file_counts() {
    let twice = format!("Stopping sccache server...\n{PLAIN}\n{ADVANCED}");
    assert_eq!(text::parse(&twice), text::parse(ADVANCED));
}

#[test]
fn text_of_other_tools_is_not_taken() {
    for text in [
        "",
        "error: unexpected argument '--show-adv-stats' found\n\nUsage: sccache <--show-stats|CMD>\n",
        "Cacheable calls:     10 / 10 (100.0%)\n  Hits:                5 / 10 (50.00%)\n",
        "cache hit (direct)                   5\ncache miss                           5\n",
        "{\"stats\": 1}",
        "{\"a\":",
    ] {
        assert!(json::parse(text).or_else(|| text::parse(text)).is_none(), "{text}");
    }
}

#[test]
fn languages_that_are_not_known_are_kept() {
    let names = |label: &str| language_and_compiler(label);
    assert_eq!(names("Objective D (beta)"), ("objective_d_(beta)".into(), None));
    assert_eq!(names("c++-module [msvc]"), ("c++-module".into(), Some("msvc".into())));
    assert_eq!(names("Assembler"), ("assembler".into(), None));
    assert_eq!(names("HIP"), ("hip".into(), None));
    assert_eq!(names("cHeader [gcc]"), ("cHeader".into(), Some("gcc".into())));
}

#[test]
fn names_of_files_become_keys_and_a_second_of_a_name_does_not_replace_the_first() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("z")).unwrap();
    for name in [
        "sccache-stats.txt",
        "sccache-stats.json",
        "sccache-stats-tests.txt",
        "sccache-statspython.txt",
        "sccache-stats-a-b.txt",
        "z/sccache-stats.txt",
    ] {
        std::fs::write(folder.path().join(name), ADVANCED).unwrap();
    }
    std::fs::write(folder.path().join("sccache-stats-odd.txt"), "nothing\n").unwrap();
    let mut warnings = Warnings::new();
    let files = super::super::folder::files(folder.path(), &mut warnings);
    let attributes = read(&files.iter().collect::<Vec<_>>(), &mut warnings);
    let mut keys: Vec<_> = attributes
        .iter()
        .filter_map(|(name, _)| name.strip_prefix("sccache.")?.strip_suffix(".c.hits"))
        .collect();
    keys.sort_unstable();
    let expected = [
        "main_process",
        "python",
        "sccache_stats",
        "sccache_stats_2",
        "sccache_stats_a_b",
        "tests",
    ];
    // By the rule for names `sccache-stats-a-b.txt` is of the main process, and it is the first.
    assert_eq!(keys, expected);
    assert_eq!(warnings.all().len(), 1);
    assert!(warnings.all()[0].contains("sccache-stats-odd.txt"), "{warnings:?}");
}

#[test]
fn the_key_of_a_file_is_what_the_regular_expression_finds() {
    let key = |name| key_of(name, &["txt"]);
    assert_eq!(key("sccache-stats-tests.txt"), Some("tests"));
    assert_eq!(key("sccache-stats_x.txt"), Some("_x"));
    assert_eq!(key("sccache-stats.txt"), None);
    assert_eq!(key("sccache-stats-a-b.txt"), None);
    assert_eq!(key("sccache-stats--a.txt"), None);
    // The full stop of the expression is any character, so a shorter word may be found.
    assert_eq!(key("sccache-statsfooAtxt-b.txt"), Some("foo"));
    assert_eq!(key("sccache-stats-é.txt"), Some("é"));
}

#[test]
fn real_output_of_every_version_gives_the_same_counts() {
    let Some(data) = std::env::var_os("KYMO_TEST_DATA") else {
        eprintln!("left out: real output of sccache (KYMO_TEST_DATA names no directory)");
        return;
    };
    let mut seen = 0;
    for entry in std::fs::read_dir(std::path::Path::new(&data).join("sccache")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let stats = json::parse(&text).or_else(|| text::parse(&text));
        if text.starts_with("error:") {
            assert!(stats.is_none(), "{name}");
            continue;
        }
        let attributes = attributes_of(stats);
        if name.contains("empty") {
            assert_numbers(&attributes, &[("requests", 0.0), ("hits", 0.0)]);
            assert_eq!(attributes.get("s.hit_rate"), None, "{name}");
        } else {
            assert_numbers(&attributes, &[("requests", 20.0), ("hits", 8.0), ("hit_rate", 0.5)]);
            assert_numbers(&attributes, &[("compile_failures", 2.0), ("non_cacheable_calls", 2.0)]);
            let has_cpp = number(&attributes, "s.c++.hits") == Some(4.0);
            let has_both = number(&attributes, "s.c/c++.hits") == Some(8.0);
            assert!(has_cpp != has_both, "{name}");
        }
        seen += 1;
    }
    assert!(seen > 0);
}

#[test]
fn nothing_that_a_file_holds_makes_the_parsers_panic() {
    for fixture in [PLAIN, ADVANCED, JSON] {
        super::super::tests::mutations(fixture, |bytes| {
            let text = crate::text::decode(&bytes);
            let stats = json::parse(&text).or_else(|| text::parse(&text));
            if let Some(stats) = stats {
                stats.set("s", &mut Attributes::new());
            }
        });
    }
}
