//! Grafana's dashboards: read, brought up to date, laid out, their data shaped.
//!
//! ```text
//! JSON ─> migrate ─> model ─┬─> report: what of it works
//!                           ├─> variables ─> interpolate ─> layout: panels and places
//!                           └─> (queries, asked by the caller) ─> frame ─> transform ─> fields ─> the page
//! ```
//!
//! Nothing here asks a store or a network. The JSON of a dashboard is never changed: what is understood
//! of it is made anew whenever it is needed.
//!
//! | module | what it is for |
//! |---|---|
//! | [`migrate`], [`model`] | JSON of any age to what is understood of it |
//! | [`report`](mod@report) | what of a dashboard works here, in words |
//! | [`variables`], [`interpolate`] | what is chosen, and texts with it put in |
//! | [`layout`] | where panels go once they are repeated |
//! | [`frame`], [`transform`], [`reduce`], [`fields`] | data as panels show it |
//! | `natural` | the order of names with numbers |
//! | [`effort`], `size` | how long work may take, and how much memory things do |
//! | [`configmap`], [`shipped`] | files that hold dashboards; those that come with the program |
//! | [`limits`] | every bound, with its reason |

pub mod configmap;
pub mod effort;
pub mod fields;
pub mod frame;
pub mod interpolate;
pub mod layout;
pub mod limits;
pub mod migrate;
pub mod model;
mod natural;
pub mod reduce;
pub mod report;
pub mod shipped;
mod size;
pub mod transform;
pub mod variables;
