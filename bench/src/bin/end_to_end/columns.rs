//! Bytes by column over all blocks.

use std::collections::BTreeMap;

use kymo_store::block::source::Source;
use kymo_store::{Signal, Store, StoreError};

/// Prints the columns and index regions, largest first.
pub(crate) fn print(store: &Store, signal: Signal) -> Result<(), StoreError> {
    let snapshot = store.snapshot("default", signal)?;
    let mut sizes: BTreeMap<String, u64> = BTreeMap::new();
    let mut rows = 0;
    let mut blocks = 0;
    for source in store.sources(&snapshot, None)? {
        let Source::Block(block) = source else { continue };
        rows += block.rows() as u64;
        blocks += 1;
        let mut add = |name: String, bytes: u64| *sizes.entry(name).or_default() += bytes;
        let mut pages = 0;
        for (leaf, column) in block.metadata().row_group(0).columns().iter().enumerate() {
            add(column.column_path().string(), block.leaf_bytes(leaf));
            pages += block.leaf_bytes(leaf);
        }
        let footer = block.footer();
        for (name, region) in [
            ("(origins)", footer.origins),
            ("(shapes)", footer.shapes),
            ("(trace index)", footer.trace_index),
            ("(granule filters)", footer.filters),
            ("(catalogue)", footer.catalogue),
        ] {
            let bytes = region.map_or(0, |r| r.length_bytes);
            add(name.to_owned(), bytes);
            pages += bytes;
        }
        let texts = footer.text_filters.iter().flat_map(|filter| filter.region);
        let texts: u64 = texts.map(|region| region.length_bytes).sum();
        add("(text filters)".to_owned(), texts);
        pages += texts;
        add("(parquet footer and page index)".to_owned(), block.size_bytes() - pages);
    }
    println!("\n{rows} rows in {blocks} blocks; bytes per row:");
    let mut sizes: Vec<_> = sizes.into_iter().collect();
    sizes.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    for (name, bytes) in sizes {
        println!("{:10.3}  {name}", bytes as f64 / rows.max(1) as f64);
    }
    println!();
    Ok(())
}
