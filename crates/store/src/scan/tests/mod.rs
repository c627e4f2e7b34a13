//! Tests of whole scans: cases by hand, and random ones against a model.

mod cases;
mod differential;
mod model;
mod shown;
mod texts;
mod traces;
