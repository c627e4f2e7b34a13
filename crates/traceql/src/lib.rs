//! TraceQL: syntax, types, and evaluation on spans and traces.
//!
//! [`parse`] reads the text of a query and checks its types. Every part of the tree can be printed
//! again. [`Evaluator`] answers a search over one trace at a time, [`Expression`] says what a
//! filter or an attribute is on one span; both read spans through the trait [`Trace`], so that
//! nothing has to be copied for them.
//!
//! ```text
//! text ─> lexer ─> parser (types) ─> ast ─┬─> print ─> text
//!                                         └─> eval: Slots ─> Trace ─> spansets
//! ```
//!
//! Where Tempo's answers are accidents of its storage, the better answer is given: `!(a = b)` and
//! `5 < .a` work, integers and floats are numbers, structural operators need no root span, all
//! events of a span are seen, and `parent.…` and every comparison of aggregates has its meaning.
//!
//! ```
//! use kymo_traceql::ast::{Body, Name};
//! use kymo_traceql::{Evaluator, List, QueryError, Slots, Trace, Value, parse};
//!
//! /// Three spans, the first of which is the parent of the others: the name of each.
//! struct Example([&'static str; 3]);
//!
//! impl Trace for Example {
//!     fn spans(&self) -> usize {
//!         self.0.len()
//!     }
//!     fn value(&self, span: usize, _slot: usize) -> Value<'_> {
//!         Value::Text(self.0[span])
//!     }
//!     fn elements(&self, _span: usize, _list: List) -> usize {
//!         0
//!     }
//!     fn element_value(&self, _span: usize, _slot: usize, _nth: usize) -> Value<'_> {
//!         Value::Nil
//!     }
//!     fn parent(&self, span: usize) -> Option<usize> {
//!         (span > 0).then_some(0)
//!     }
//!     fn is_root(&self, span: usize) -> bool {
//!         span == 0
//!     }
//! }
//!
//! let query = parse(r#"{ name = "checkout" } > { name =~ "SELECT .*" } | count() > 1"#)?;
//! let Body::Spans(pipeline) = &query.body else { unreachable!("it asks for spans") };
//!
//! let mut slots = Slots::new();
//! let mut evaluator = Evaluator::new(pipeline, &mut slots)?;
//! assert_eq!(slots.names()[0].to_string(), "name");
//!
//! let found = evaluator.evaluate(&Example(["checkout", "SELECT a", "SELECT b"]));
//! assert_eq!(found[0].spans, [1, 2]);
//! assert_eq!(found[0].attributes[0].0, "count()");
//!
//! let error = parse("{ name = }").unwrap_err();
//! assert_eq!(error.to_string(), r#"parse error at line 1, col 10: unexpected "}", expected a value"#);
//! # Ok::<(), QueryError>(())
//! ```
//!
//! | module | what it is for |
//! |---|---|
//! | [`ast`], `construct` | what a query is made of, and trees that programs build |
//! | [`value`] | values of spans |
//! | [`eval`] | evaluation |
//! | [`metrics`] | numbers over time |
//! | [`limits`] | every limit, with its reason |
//! | `lexer`, `parser` | text to trees, with types checked |
//! | `duration`, `pattern` | durations as text, regular expressions |
//! | `names`, `print`, `walk` | what things are called, trees to text, questions about trees |
//! | `error` | what can be wrong with a query, and where |

pub mod ast;
mod construct;
mod duration;
mod error;
pub mod eval;
mod lexer;
pub mod limits;
pub mod metrics;
mod names;
mod parser;
mod print;
pub mod value;
mod walk;

pub use ast::Query;
pub use duration::{Nanos, parse as parse_duration};
pub use error::{Position, QueryError};
pub use eval::{Evaluator, Expression, List, Slots, Spanset, Structure, Trace};
pub use kymo_pattern::{anchored, validate as validate_pattern};
pub use parser::{parse, parse_attribute, parse_filter_leniently};
pub use value::{Element, OwnedValue, Value};
