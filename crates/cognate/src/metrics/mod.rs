//! What is counted while a stream is learnt.

mod curve;
mod tally;

pub use curve::{Curve, CurvePoint};
pub use tally::{Metrics, Tally};
