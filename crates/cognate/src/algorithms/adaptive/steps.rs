//! How far each feature of an example may move the weights of each part, four features at a time.
//!
//! What the table holds for them is gathered from where it lies, so that dividing, which is most of the work, is done in wide
//! vectors.
#![expect(clippy::inline_always, reason = "only what is inlined is compiled for wide vectors")]

use super::mixer::{Each, PARTS};
use super::rule::Usual;

/// Features of a group.
const LANES: usize = 4;
type Lanes = [f64; LANES];

/// A feature of an example, with what is known about it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Feature {
    pub(super) value: f64,
    /// s.
    pub(super) size: f64,
    /// Precisions: of what all tasks share, of the task's own.
    pub(super) shared: f64,
    pub(super) own: f64,
}

/// Four features. Those that are not there have the value 0 and the size 1.
#[derive(Debug, Clone, Copy)]
struct Group {
    values: Lanes,
    sizes: Lanes,
    shared: Lanes,
    own: Lanes,
    rates: [Lanes; PARTS],
}

const EMPTY: Group = Group {
    values: [0.0; LANES],
    sizes: [1.0; LANES],
    shared: [0.0; LANES],
    own: [0.0; LANES],
    rates: [[0.0; LANES]; PARTS],
};

/// What turns precisions into rates, the same for all features.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    pub(super) usual: Usual,
    /// m.
    pub(super) mean: f64,
    /// 1 over the prior variance of each part's margin.
    pub(super) priors: Each,
    /// The factor through which precisions are seen.
    pub(super) seen: f64,
}

impl Scale {
    /// Rates times the value, of a feature with this m s^2 / r.
    #[inline(always)]
    pub(super) fn rates(&self, unit: f64, shared: f64, own: f64, value: f64) -> Each {
        let (shared, own) = (self.seen * shared, self.seen * own);
        let held = [own, own, shared, shared];
        std::array::from_fn(|at| value / (unit * self.priors[at] + held[at]))
    }
}

/// The features of an example in groups; scratch that is used again.
#[derive(Debug, Clone, Default)]
pub(super) struct Steps {
    groups: Vec<Group>,
    features: usize,
}

impl Steps {
    pub(super) fn clear(&mut self) {
        self.groups.clear();
        self.features = 0;
    }

    #[inline(always)]
    pub(super) fn push(&mut self, Feature { value, size, shared, own }: Feature) {
        let lane = self.features % LANES;
        if lane == 0 {
            self.groups.push(EMPTY);
        }
        if let Some(group) = self.groups.last_mut() {
            (group.values[lane], group.sizes[lane]) = (value, size);
            (group.shared[lane], group.own[lane]) = (shared, own);
        }
        self.features += 1;
    }

    /// The sum of r (x / s)^2.
    #[inline(always)]
    pub(super) fn normalised(&self, usual: Usual) -> f64 {
        let mut sums = [0.0; LANES];
        for Group { values, sizes, .. } in &self.groups {
            let terms = each_lane(|lane| usual.normalised(values[lane], sizes[lane]));
            sums = each_lane(|lane| sums[lane] + terms[lane]);
        }
        total(sums)
    }

    /// Rates times values of every feature; the sums of these times the values again, a part each.
    #[inline(always)]
    pub(super) fn rates(&mut self, scale: &Scale) -> Each {
        let mut sums = [[0.0; LANES]; PARTS];
        for Group { values, sizes, shared, own, rates } in &mut self.groups {
            let units = each_lane(|lane| scale.usual.unit(scale.mean, sizes[lane]));
            let shared = each_lane(|lane| scale.seen * shared[lane]);
            let own = each_lane(|lane| scale.seen * own[lane]);
            for (part, held) in [own, own, shared, shared].into_iter().enumerate() {
                let prior = scale.priors[part];
                let rate = each_lane(|lane| values[lane] / (units[lane] * prior + held[lane]));
                sums[part] = each_lane(|lane| sums[part][lane] + rate[lane] * values[lane]);
                rates[part] = rate;
            }
        }
        sums.map(total)
    }

    /// Rates times the value, of a feature by its place.
    #[inline(always)]
    pub(super) fn of(&self, at: usize) -> Each {
        let (group, lane) = (&self.groups[at / LANES], at % LANES);
        std::array::from_fn(|part| group.rates[part][lane])
    }
}

/// The same for every lane, in one go.
#[inline(always)]
fn each_lane(of: impl Fn(usize) -> f64) -> Lanes {
    [of(0), of(1), of(2), of(3)]
}

#[inline(always)]
fn total(sums: Lanes) -> f64 {
    (sums[0] + sums[2]) + (sums[1] + sums[3])
}
