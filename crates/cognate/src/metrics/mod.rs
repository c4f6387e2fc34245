//! Counts of a stream while it is learnt.

mod curve;
mod reliability;
mod tally;

pub use curve::{Curve, CurvePoint};
pub use reliability::{Bin, Reliability};
pub use tally::{Metrics, Tally};
