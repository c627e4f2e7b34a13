//! Every bound of this crate, with its reason.

/// A dashboard's JSON, as text. Node Exporter Full, among the largest that people share, has 0.5 MB.
pub const MAX_DASHBOARD_BYTES: usize = 4 << 20;
/// A file with dashboards: a Kubernetes ConfigMap has at most 1 MiB, a folder's file perhaps more. Of
/// YAML, each document is bounded further, by its parser.
pub const MAX_FILE_BYTES: usize = 16 << 20;
/// Dashboards that one file may hold.
pub const MAX_DASHBOARDS_PER_FILE: usize = 100;
/// Panels of a dashboard as it is written. The largest known have a few hundred.
pub const MAX_PANELS: usize = 2_000;
/// Panels and headings of rows once they are repeated: each costs a query when it is seen.
pub const MAX_LAID_OUT_PANELS: usize = 5_000;
/// Copies of one panel or row. Grafana repeats without bound; nobody scrolls through more.
pub const MAX_REPEATS: usize = 500;
/// Queries of a panel.
pub const MAX_TARGETS: usize = 100;
/// Variables of a dashboard.
pub const MAX_VARIABLES: usize = 200;
/// Values that a variable offers. More cannot be chosen from, and all of them go into a query.
pub const MAX_OPTIONS: usize = 10_000;
/// Values of a variable that are chosen at once, by a link.
pub const MAX_CHOSEN: usize = 10_000;
/// A text after variables are put in: a variable with all its values may stand in it many times.
pub const MAX_INTERPOLATED_BYTES: usize = 4 << 20;
/// All texts of an answer with variables put in. Hundreds of queries with all values of a large variable
/// have some tens of megabytes.
pub const MAX_ANSWER_INTERPOLATED_BYTES: usize = 64 << 20;
/// What stands between the braces of a variable: a name, a path, a format with its arguments. Who looks
/// further for a brace that is missing takes time with the square of the text.
pub const MAX_NAMED_BYTES: usize = 500;
/// How often a value may itself name variables.
pub const MAX_INTERPOLATION_DEPTH: usize = 8;
/// Variables that are put in for one text, those of values included: values that name each other many
/// times, with nothing in the innermost, write nothing however long they take. What comes later stays
/// as it is written.
pub const MAX_INTERPOLATION_STEPS: usize = 10_000;
/// So many bytes of a value take the time of another variable.
pub const INTERPOLATED_BYTES_PER_STEP: usize = 1_000;
/// How deep the JSON of a dashboard is looked into. What is deeper is kept but not understood.
pub const MAX_DEPTH: usize = 100;
/// Memory of one regular expression of a variable.
pub const MAX_REGEX_BYTES: usize = 1 << 20;
/// An expression with look-around or back references. People write dozens of letters.
pub const MAX_BACKTRACKING_PATTERN_BYTES: usize = 2 << 10;
/// Steps back while such an expression is looked for in one text, about 10 ns each. Where they do not
/// suffice, the text does not match; over many rows it is the time of the panel that ends
/// ([`crate::effort`]).
pub const MAX_BACKTRACKS: usize = 10_000;
/// Instructions that such an expression is made of: counted repetitions multiply them.
pub const MAX_BACKTRACKING_STEPS: usize = 20_000;
/// Rows of Grafana's grid before a panel: a larger number is an accident, and would make an endless
/// page.
pub const MAX_GRID_ROWS: i64 = 100_000;
/// Points of a series that a query may give at most, as Prometheus has it.
pub const MAX_POINTS: i64 = 11_000;
/// Transformations of one panel. The most that a known dashboard has is about a dozen.
pub const MAX_TRANSFORMATIONS: usize = 100;
/// Frames that a panel works on. More, of several queries together, are cut.
pub const MAX_FRAMES: usize = 10_000;
/// Fields of one frame. Transformations turn rows into fields, and nobody reads wider tables.
pub const MAX_FIELDS: usize = 2_000;
/// Cells of all frames of a panel, about 24 bytes each. A join or a matrix may make many from few.
pub const MAX_CELLS: usize = 4_000_000;
/// Texts of all frames of a panel, as if each cell had its own: cells share them until a step writes each
/// anew.
pub const MAX_TEXT_BYTES: usize = 512 << 20;
/// A name that is made for a field or a value, or a text that is made of one. Nobody reads more, and each
/// may be made of the one before, twice as long.
pub const MAX_NAME_BYTES: usize = 4 << 10;
/// Elements of a list in the options of a transformation: each may be looked at for every row.
pub const MAX_LISTED_OPTIONS: usize = 2_000;
/// What a panel sets for its fields, times the fields that get it. Those of 5,000 series may have 13 KB.
pub const MAX_CONFIG_BYTES: usize = 128 << 20;
/// Single values that a panel shows, with their texts and the configuration of their fields.
pub const MAX_SHOWN_BYTES: usize = 64 << 20;
/// Mappings of a field: each is compared with every value.
pub const MAX_MAPPINGS: usize = 1_000;
/// Rows that `merge` compares with each other: a few seconds at most.
pub const MAX_MERGE_COMPARISONS: usize = 20_000_000;
/// How deep matchers may hold matchers.
pub const MAX_MATCHER_DEPTH: usize = 8;
/// Rows that a panel shows one by one, such as the bars of a bar gauge, where it sets no limit, as
/// Grafana.
pub const DEFAULT_SHOWN_VALUES: usize = 25;
/// Values that a panel shows of its series, each reduced: every one is drawn, and nobody compares more.
pub const MAX_SHOWN_SERIES: usize = 1_000;
/// Values that a panel may ask to be shown one by one.
pub const MAX_SHOWN_VALUES: usize = 10_000;
/// Overrides of a panel. Each is compared with every field. The most that a known dashboard has is 50.
pub const MAX_OVERRIDES: usize = 1_000;
/// Links on one value, or in the heading of a panel.
pub const MAX_LINKS: usize = 20;
/// Links of all values of a panel, about 200 bytes each: more than are looked at, and they are made
/// whenever a panel is asked.
pub const MAX_PANEL_LINKS: usize = 20_000;
/// A link after its variables are put in. Browsers and proxies cut longer ones.
pub const MAX_LINK_BYTES: usize = 8 << 10;
/// Digits after the point of a shown number: a double has 17 in all, and more is an accident.
pub const MAX_DECIMALS: i64 = 20;
/// Buckets of a histogram or rows of a heat map.
pub const MAX_BUCKETS: usize = 10_000;
