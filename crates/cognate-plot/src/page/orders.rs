//! Several runs of one learner, over orders of the same examples, as one.
//!
//! A page that shows the mean in one place and a single run in another gives two numbers for one thing. So the runs are
//! merged first: counts are added; what judges, and curves, are averaged.

use super::report::Run;

/// One run of all; none of none. What is no count or curve (config, relation, further columns) is that of the first.
pub fn merged(runs: Vec<Run>) -> Option<Run> {
    let mut runs = runs.into_iter();
    let mut all = runs.next()?;
    let others: Vec<Run> = runs.collect();
    all.totals.value = mean(all.totals.value, others.iter().map(|run| run.totals.value));
    for (at, task) in all.tasks.iter_mut().enumerate() {
        let values = others.iter().filter_map(|run| run.tasks.get(at)).map(|task| task.value);
        task.value = mean(task.value, values);
    }
    for other in &others {
        all.totals.examples += other.totals.examples;
        all.totals.mistakes += other.totals.mistakes;
        all.totals.updates += other.totals.updates;
        all.totals.unlabelled += other.totals.unlabelled;
        all.totals.seconds += other.totals.seconds;
        for (task, more) in all.tasks.iter_mut().zip(&other.tasks) {
            task.examples += more.examples;
            task.mistakes += more.mistakes;
            task.queries += more.queries;
        }
    }
    all.curve = mean_curve(&all.curve, others.iter().map(|run| run.curve.as_slice()));
    for (at, task) in all.tasks.iter_mut().enumerate() {
        let curves = others.iter().filter_map(|run| run.tasks.get(at)).map(|task| task.curve.as_slice());
        task.curve = mean_curve(&task.curve, curves);
    }
    Some(all)
}

/// The mean of the numbers among the first and the others; the sum from left to right, as everywhere.
fn mean(first: f64, others: impl Iterator<Item = f64>) -> f64 {
    let all = std::iter::once(first).chain(others).filter(|value| !value.is_nan());
    let (sum, n) = all.fold((0.0, 0.0), |(sum, n), value| (sum + value, n + 1.0));
    sum / n
}

/// The mean of curves at the places that all have.
fn mean_curve<'a>(first: &[(f64, f64)], others: impl Iterator<Item = &'a [(f64, f64)]>) -> Vec<(f64, f64)> {
    let others: Vec<&[(f64, f64)]> = others.collect();
    let mean = |(at, &(x, y)): (usize, &(f64, f64))| {
        let same: Vec<f64> =
            others.iter().filter_map(|curve| curve.get(at)).filter(|p| p.0 == x).map(|p| p.1).collect();
        (same.len() == others.len()).then(|| (x, mean(y, same.into_iter())))
    };
    first.iter().enumerate().filter_map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::run;
    use super::*;

    #[test]
    fn rates_are_means_and_so_are_the_ends_of_curves() {
        let (mut a, mut b) = (run("r", 2), run("r", 2));
        (a.totals.value, b.totals.value) = (100.0 / 1024.0, 200.0 / 1024.0);
        (a.tasks[1].value, b.tasks[1].value) = (10.0 / 1023.0, 30.0 / 1023.0);
        (a.tasks[0].value, b.tasks[0].value) = (f64::NAN, 0.5);
        a.curve = vec![(1.0, 1.0), (2.0, 0.5), (1024.0, 100.0 / 1024.0)];
        b.curve = vec![(1.0, 0.0), (4.0, 0.5), (1024.0, 200.0 / 1024.0)];
        let all = merged(vec![a, b]).unwrap();
        assert_eq!(all.totals.value, 150.0 / 1024.0);
        assert_eq!(all.tasks[1].value, 20.0 / 1023.0);
        assert_eq!(all.tasks[0].value, 0.5, "a run without examples of a task says nothing");
        assert_eq!((all.totals.examples, all.totals.mistakes), (2048, 256));
        assert_eq!(all.curve, [(1.0, 0.5), (1024.0, 150.0 / 1024.0)]);
        assert!(merged(Vec::new()).is_none());
        assert_eq!(merged(vec![run("r", 1)]).unwrap().curve, run("r", 1).curve);
    }
}
