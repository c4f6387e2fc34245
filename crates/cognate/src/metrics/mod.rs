//! Counts of a stream while it is learnt.

mod counts;
mod curve;
mod label_runs;
mod learnt;
mod measures;
mod ranking;
mod reliability;
mod scored;
mod tally;
mod threshold;

pub use counts::Metrics;
pub use curve::{Curve, CurvePoint};
pub use label_runs::LabelRuns;
pub use learnt::{Learnt, Overlap};
pub use measures::Measures;
pub use ranking::{Areas, Auc, Ranking};
pub use reliability::{Bin, Reliability};
pub use scored::Scored;
pub use tally::Tally;
pub use threshold::{ThresholdChooser, ThresholdMetric};
