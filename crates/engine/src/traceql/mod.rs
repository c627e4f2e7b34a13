//! Questions about traces: TraceQL, tags, and who calls whom.
//!
//! ```text
//! query ─> plan: which spans make a trace a candidate (a predicate of the store)
//!   │        │
//!   │        ├─ search ─> Walk: candidates, newest first ─> group: whole traces ─> evaluate ─> answer
//!   │        │
//!   │        └─ series ─> rows are counted as they are scanned, if the predicate is all there is;
//!   │                     else as a search
//!   └─ tags ─> catalogues, or as series
//! ```
//!
//! A predicate never misses a trace; what it cannot say is decided by the evaluation (`kymo_traceql`),
//! which sees whole traces, wherever their spans lie. Each question runs on threads of the engine,
//! in its turn, within its time and memory.
//!
//! | module | what it holds |
//! |---|---|
//! | `request`, `answer`, `ask` | what is asked and answered, and how it gets its turn |
//! | `look` | what one question sees, and its bounds |
//! | `tested`, `predicate`, `plan` | conditions to predicates, pipelines to candidates |
//! | `layout`, `table`, `rows` | which columns are read, and their values |
//! | `loading`, `group`, `evaluate`, `threads` | whole traces, evaluated on all threads |
//! | `search`, `show`, `element` | traces that match, and what is shown of them |
//! | `measure`, `counting`, `groups`, `keys`, `near`, `exemplars`, `compare`, `columns` | numbers over time |
//! | `tags`, `dependencies`, `explain` | names and values, calls, plans as text |

mod answer;
mod ask;
mod columns;
mod compare;
mod counting;
mod dependencies;
mod element;
mod evaluate;
mod exemplars;
mod explain;
mod group;
mod groups;
mod keys;
mod layout;
mod loading;
mod look;
mod measure;
mod near;
mod plan;
mod predicate;
mod request;
mod rows;
mod search;
mod show;
mod table;
mod tags;
mod tested;
mod threads;

pub use answer::{
    Dependency, Found, FoundSet, FoundSpan, FoundTrace, MetricsAnswer, ScopeTags, SearchStats,
    ServiceStats, TagKind, TagValue,
};
pub use ask::Searching;
pub use request::{Cursor, MetricsQuery, Points, Search, Sort, TagQuery};
pub(crate) use table::View;
