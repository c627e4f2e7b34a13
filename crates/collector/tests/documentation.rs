//! The example in the documentation is true.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use kymo_collector::translate;

/// Blocks of YAML in a page.
fn blocks(page: &str) -> Vec<&str> {
    let blocks = page.split("```yaml\n").skip(1);
    blocks.filter_map(|rest| rest.split_once("```").map(|(block, _)| block)).collect()
}

#[test]
fn the_example_becomes_what_the_page_says() {
    let page = include_str!("../../../docs/collector.md");
    let blocks = blocks(page);
    let [collector, kymo] = blocks.as_slice() else { panic!("{blocks:?}") };
    let translation = translate(collector).unwrap();
    assert_eq!(translation.yaml, *kymo);
    assert!(translation.is_complete(), "{:?}", translation.notes);
}
