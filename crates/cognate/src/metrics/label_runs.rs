//! Runs of one label: whether the order of a stream has to do with its labels.

/// Runs of one label within tasks, beside what a random order would give.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LabelRuns {
    /// The longest run of one label among the examples of a task.
    pub longest: u64,
    /// About how long the longest run of that task would be in a random order.
    pub by_chance: f64,
    /// How often the label changes from one example of a task to its next.
    pub changes: u64,
    /// How often it would in a random order.
    pub expected_changes: f64,
}

/// What is known of the labels of a task.
#[derive(Clone, Copy, Default)]
struct Labels {
    examples: u32,
    positives: u32,
    changes: u32,
    run: u32,
    longest: u32,
    last: bool,
}

impl LabelRuns {
    /// Those of a stream, whose marks are twice the task's number, and 1 more for the label +1.
    pub(super) fn of(marks: &[u32]) -> Self {
        let met = marks.iter().map(|mark| mark >> 1).max().map_or(0, |last| last as usize + 1);
        let mut tasks = vec![Labels::default(); met];
        for mark in marks {
            let (task, positive) = ((mark >> 1) as usize, mark & 1 == 1);
            let labels = &mut tasks[task];
            let same = labels.examples > 0 && labels.last == positive;
            labels.changes += u32::from(labels.examples > 0 && !same);
            labels.run = if same { labels.run + 1 } else { 1 };
            labels.longest = labels.longest.max(labels.run);
            labels.examples += 1;
            labels.positives += u32::from(positive);
            labels.last = positive;
        }
        let mut runs = Self::default();
        // A task of one label has one run in every order.
        for labels in tasks.iter().filter(|labels| (1..labels.examples).contains(&labels.positives)) {
            let (examples, positives) = (f64::from(labels.examples), f64::from(labels.positives));
            runs.changes += u64::from(labels.changes);
            runs.expected_changes += 2.0 * positives * (examples - positives) / examples;
            let common = positives.max(examples - positives) / examples;
            let by_chance = 1.0 + (examples * (1.0 - common)).max(1.0).ln() / -common.ln();
            if f64::from(labels.longest) * runs.by_chance.max(1.0) > by_chance * runs.longest as f64 {
                (runs.longest, runs.by_chance) = (u64::from(labels.longest), by_chance);
            }
        }
        runs
    }

    /// Whether labels come sorted, or nearly: few changes, or a run far beyond what chance gives.
    pub fn are_sorted(&self) -> bool {
        let few = self.expected_changes >= 10.0 && (self.changes as f64) < self.expected_changes / 4.0;
        let long = self.longest >= 50 && self.longest as f64 > 10.0 * self.by_chance;
        few || long
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::generator;
    use rand::RngExt;

    fn runs(count: u32, mark: impl FnMut(u32) -> u32) -> LabelRuns {
        LabelRuns::of(&(0..count).map(mark).collect::<Vec<_>>())
    }

    #[test]
    fn sorted_labels_are_told_from_chance() {
        let sorted = runs(1000, |at| u32::from(at >= 700));
        assert!(sorted.are_sorted());
        assert_eq!((sorted.longest, sorted.changes), (700, 1));
        let mut rng = generator(5, 0);
        for rare in [0.5, 0.06] {
            let shuffled = runs(5000, |at| ((at % 7) << 1) | u32::from(rng.random::<f64>() < rare));
            assert!(!shuffled.are_sorted(), "{shuffled:?}");
            assert!((shuffled.changes as f64 / shuffled.expected_changes - 1.0).abs() < 0.2, "{shuffled:?}");
        }
        // Half of the stream has all of one label.
        assert!(runs(4000, |at| u32::from(at < 2000 && rng.random::<f64>() < 0.5)).are_sorted());
    }

    #[test]
    fn tasks_one_after_the_other_are_not_sorted_labels() {
        let mut rng = generator(9, 0);
        // The label of a task is nearly always the same, and tasks come one after the other.
        let blocks = runs(4000, |at| {
            let task = at / 400;
            (task << 1) | u32::from((task % 2 == 0) != (rng.random::<f64>() < 0.05))
        });
        assert!(!blocks.are_sorted(), "{blocks:?}");
        assert!(!runs(4000, |at| ((at / 400) << 1) | (at / 400 % 2)).are_sorted());
        // Within every task, the positive ones first.
        assert!(runs(4000, |at| ((at / 400) << 1) | u32::from(at % 400 < 100)).are_sorted());
        assert_eq!(LabelRuns::of(&[]), LabelRuns::default());
    }
}
