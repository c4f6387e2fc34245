//! How far each feature of an example may move the weights of each part, four features at a time.
//!
//! What the table holds for them is gathered from where it lies, so that dividing, which is most of the work, is done in wide
//! vectors.
#![expect(clippy::inline_always, reason = "only what is inlined is compiled for wide vectors")]

use super::mixer::{PARTS, PerPart};
use super::rule::Usual;
use super::step::Scale;

/// Features side by side.
const WIDTH: usize = 4;
type Wide = [f64; WIDTH];

/// A feature of an example, with what is known about it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Feature {
    pub(super) value: f64,
    /// s.
    pub(super) size: f64,
    /// Precision of what all tasks share.
    pub(super) shared: f64,
    /// Precision of what is the task's own.
    pub(super) own: f64,
}

/// Four features, a lane each. Those that are not there have the value 0 and the size 1.
#[derive(Debug, Clone, Copy)]
struct Lanes {
    values: Wide,
    sizes: Wide,
    /// Precisions of what all tasks share.
    shared: Wide,
    /// Precisions of what is the task's own.
    own: Wide,
    /// v x of each part.
    rates: [Wide; PARTS],
}

const EMPTY: Lanes = Lanes {
    values: [0.0; WIDTH],
    sizes: [1.0; WIDTH],
    shared: [0.0; WIDTH],
    own: [0.0; WIDTH],
    rates: [[0.0; WIDTH]; PARTS],
};

/// v x of each part, for a feature with this m s^2 / r.
#[inline(always)]
pub(super) fn rates_of(
    scale: &Scale,
    inverse_priors: &PerPart,
    unit: f64,
    Feature { value, shared, own, .. }: Feature,
) -> PerPart {
    let precisions = per_part(scale.seen * own, scale.seen * shared);
    std::array::from_fn(|part| value / (unit * inverse_priors[part] + precisions[part]))
}

/// What is the task's own counts for the own parts of `alone` and `coupled`, what is shared for the other two.
#[inline(always)]
fn per_part<T: Copy>(own: T, shared: T) -> [T; PARTS] {
    [own, own, shared, shared]
}

/// The features of an example in lanes; scratch that is used again.
#[derive(Debug, Clone, Default)]
pub(super) struct FeatureLanes {
    lanes: Vec<Lanes>,
}

impl FeatureLanes {
    /// So many features, none of which is there yet.
    pub(super) fn clear(&mut self, features: usize) {
        self.lanes.resize(features.div_ceil(WIDTH), EMPTY);
        if !features.is_multiple_of(WIDTH)
            && let Some(last) = self.lanes.last_mut()
        {
            *last = EMPTY;
        }
    }

    /// Puts a feature in its place.
    #[inline(always)]
    pub(super) fn set(&mut self, at: usize, Feature { value, size, shared, own }: Feature) {
        let (lanes, lane) = (&mut self.lanes[at / WIDTH], at % WIDTH);
        (lanes.values[lane], lanes.sizes[lane]) = (value, size);
        (lanes.shared[lane], lanes.own[lane]) = (shared, own);
    }

    /// The sum of r (x / s)^2.
    #[inline(always)]
    pub(super) fn normalised(&self, usual: Usual) -> f64 {
        let mut sums = [0.0; WIDTH];
        for Lanes { values, sizes, .. } in &self.lanes {
            let terms = each_lane(|lane| usual.normalised(values[lane], sizes[lane]));
            sums = each_lane(|lane| sums[lane] + terms[lane]);
        }
        total(sums)
    }

    /// Finds v x of every feature and part; the sums of v x^2 per part.
    #[inline(always)]
    pub(super) fn find_rates(&mut self, scale: &Scale, inverse_priors: &PerPart) -> PerPart {
        let mut sums = [[0.0; WIDTH]; PARTS];
        for Lanes { values, sizes, shared, own, rates } in &mut self.lanes {
            let units = each_lane(|lane| scale.unit(sizes[lane]));
            let shared = each_lane(|lane| scale.seen * shared[lane]);
            let own = each_lane(|lane| scale.seen * own[lane]);
            for (part, precisions) in per_part(own, shared).into_iter().enumerate() {
                let prior = inverse_priors[part];
                let rate = each_lane(|lane| values[lane] / (units[lane] * prior + precisions[lane]));
                sums[part] = each_lane(|lane| sums[part][lane] + rate[lane] * values[lane]);
                rates[part] = rate;
            }
        }
        sums.map(total)
    }

    /// v x of each part, for a feature by its place in the example.
    #[inline(always)]
    pub(super) fn rates(&self, at: usize) -> PerPart {
        let (lanes, lane) = (&self.lanes[at / WIDTH], at % WIDTH);
        std::array::from_fn(|part| lanes.rates[part][lane])
    }
}

/// The same for every lane, in one go.
#[inline(always)]
fn each_lane(of: impl Fn(usize) -> f64) -> Wide {
    [of(0), of(1), of(2), of(3)]
}

#[inline(always)]
fn total(sums: Wide) -> f64 {
    (sums[0] + sums[2]) + (sums[1] + sums[3])
}
