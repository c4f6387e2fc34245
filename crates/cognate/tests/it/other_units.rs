//! Do bad lines, huge values, and tasks in other units, leave the others alone? And is all of one unit as all of another?

use crate::support::harness;
use serde_json::json;

const TASKS: usize = 10;
const FEATURES: usize = 12;
const EXAMPLES: usize = 3000;

/// A line: task, label, values.
type Line = (usize, f64, Vec<f64>);

/// Normal numbers, from a counter.
struct Normal(u64);

impl Normal {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn next(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// Related tasks.
fn lines(seed: u64) -> Vec<Line> {
    let mut normal = Normal(seed);
    let shared: Vec<f64> = (0..FEATURES).map(|_| normal.next()).collect();
    let tasks: Vec<Vec<f64>> =
        (0..TASKS).map(|_| shared.iter().map(|w| w + 0.5 * normal.next()).collect()).collect();
    (0..EXAMPLES)
        .map(|_| {
            let task = (normal.uniform() * TASKS as f64) as usize;
            let x: Vec<f64> = (0..FEATURES).map(|_| normal.next()).collect();
            let margin: f64 = tasks[task].iter().zip(&x).map(|(w, x)| w * x).sum();
            let label = if margin + 0.5 * normal.next() > 0.0 { 1.0 } else { -1.0 };
            (task, label, x)
        })
        .collect()
}

fn times(values: &mut [f64], factor: f64) {
    values.iter_mut().for_each(|value| *value *= factor);
}

fn text(lines: &[Line]) -> String {
    let mut text = String::new();
    for (task, label, values) in lines {
        text += &format!("{label:+} qid:{}", task + 1);
        (1..).zip(values).for_each(|(at, value)| text += &format!(" {at}:{value:e}"));
        text.push('\n');
    }
    text
}

/// Whether each was a mistake, and its margin.
fn run(lines: &[Line], interaction: &serde_json::Value) -> Vec<(bool, f64)> {
    let mut model = harness::model(&json!({"learner": {"adaptive": {"interaction": interaction}}}));
    let reports = harness::learn(&mut model, &text(lines));
    reports.into_iter().map(|report| (report.mistake, report.margin)).collect()
}

fn auto() -> serde_json::Value {
    json!({"coupled": {"b": "auto"}})
}

fn kinds() -> [serde_json::Value; 4] {
    [auto(), json!("independent"), json!("pooled"), json!({"coupled": {"b": 2}})]
}

/// Share of mistakes on all tasks but the first.
fn others(lines: &[Line], interaction: &serde_json::Value) -> f64 {
    let seen = run(lines, interaction);
    let others: Vec<bool> =
        lines.iter().zip(seen).filter(|(line, _)| line.0 > 0).map(|(_, (mistake, _))| mistake).collect();
    others.iter().filter(|mistake| **mistake).count() as f64 / others.len() as f64
}

/// How much worse the other tasks become, in the mean of three streams.
fn worse(interaction: &serde_json::Value, spoil: impl Fn(&mut Vec<Line>)) -> f64 {
    let (mut clean, mut spoilt) = (0.0, 0.0);
    for seed in [101, 102, 103] {
        let mut all = lines(seed);
        clean += others(&all, interaction);
        spoil(&mut all);
        spoilt += others(&all, interaction);
    }
    spoilt / clean - 1.0
}

fn bad_line(lines: &mut Vec<Line>, at: usize, factor: f64) {
    let (_, label, mut values) = lines[at].clone();
    times(&mut values, factor);
    lines.insert(at, (0, -label, values));
}

#[test]
fn a_bad_line_leaves_the_others_alone() {
    for interaction in [auto(), json!("pooled"), json!({"coupled": {"b": 2}})] {
        for at in [20, 500] {
            for factor in [1e2, 1e3, 1e6, 1e12] {
                let worse = worse(&interaction, |lines| bad_line(lines, at, factor));
                assert!(worse < 0.05, "{interaction}, {factor} times too large at {at}: {worse}");
            }
        }
    }
}

#[test]
fn bad_lines_that_come_again_and_again_leave_the_others_alone() {
    for factor in [1e2, 1e6] {
        let worse =
            worse(&auto(), |lines| (50..EXAMPLES).step_by(100).for_each(|at| bad_line(lines, at, factor)));
        assert!(worse < 0.05, "{factor}: {worse}");
    }
}

/// 1,000 times as large or more: below that some examples are near enough to set sizes. From the start, but not with the first lines of all, which are what the others are compared with.
#[test]
fn a_task_in_other_units_leaves_the_others_alone() {
    for factor in [1e3, 1e6, 1e12] {
        let worse = worse(&auto(), |lines| {
            lines.iter_mut().take(20).for_each(|line| line.0 = line.0.max(1));
            lines.iter_mut().filter(|line| line.0 == 0).for_each(|line| times(&mut line.2, factor));
        });
        assert!(worse < 0.05, "{factor}: {worse}");
    }
}

/// A first line that is tiny makes a slow start and sets no sizes for good, and a stream may go on in other units.
#[test]
fn sizes_follow_when_all_that_comes_is_far() {
    for interaction in kinds() {
        let tiny = worse(&interaction, |lines| times(&mut lines[0].2, 1e-6));
        assert!(tiny < 0.6, "{interaction}, first line: {tiny}");
        for factor in [1e2, 1e6] {
            let changed = worse(&interaction, |lines| {
                lines.iter_mut().skip(1000).for_each(|line| times(&mut line.2, factor));
            });
            assert!(changed < 1.0, "{interaction}, {factor} times as large from the middle on: {changed}");
        }
    }
}

/// Spoilt, so that there is something to scale. Powers of two change no digit; what sums of logarithms round is left.
#[test]
fn units_of_all_do_not_matter() {
    let mut spoilt = lines(7);
    spoilt.truncate(400);
    times(&mut spoilt[25].2, 1e4);
    spoilt.iter_mut().filter(|line| line.0 == 4).for_each(|line| times(&mut line.2, 300.0));
    for interaction in kinds() {
        let margins = run(&spoilt, &interaction);
        for factor in [2.0_f64.powi(-40), 2.0_f64.powi(60)] {
            let mut scaled = spoilt.clone();
            scaled.iter_mut().for_each(|line| times(&mut line.2, factor));
            for ((_, found), (_, expected)) in run(&scaled, &interaction).iter().zip(&margins) {
                let gap = (found - expected).abs();
                assert!(gap <= 1e-9 * (1.0 + expected.abs()), "{interaction}, {factor}: {found} {expected}");
            }
        }
    }
}

/// What a model says of an example is what it says when it learns it, and it goes on from a file as if it had never stopped.
#[test]
fn what_is_scaled_is_predicted_as_it_is_learnt_and_saved() {
    let mut spoilt = lines(8);
    spoilt.truncate(300);
    spoilt.iter_mut().skip(100).take(20).for_each(|line| times(&mut line.2, 1e5));
    for interaction in kinds() {
        let expected = run(&spoilt, &interaction);
        let mut model = harness::model(&json!({"learner": {"adaptive": {"interaction": interaction}}}));
        let mut found = Vec::new();
        for (at, line) in spoilt.iter().enumerate() {
            if at == 110 {
                model = cognate::Model::from_bytes(&model.to_bytes()).unwrap();
            }
            let indices: Vec<u32> = (0..FEATURES as u32).collect();
            let x = cognate::SparseView::try_new(&indices, &line.2).unwrap();
            let task = model.tasks().find(&(line.0 + 1).to_string());
            let said = task.map(|task| model.learner().as_predict().margin(task, x));
            let learnt = harness::learn(&mut model, &text(std::slice::from_ref(line)))[0].margin;
            assert!(said.is_none_or(|said| said == learnt), "{interaction}, at {at}: {said:?} and {learnt}");
            found.push(learnt);
        }
        for (at, (found, (_, expected))) in found.iter().zip(&expected).enumerate() {
            assert_eq!(found.to_bits(), expected.to_bits(), "{interaction}, at {at}");
        }
    }
}

/// Of the first lines nobody knows which are in other units; what they have set is taken back.
#[test]
fn bad_first_lines_leave_the_others_alone() {
    for at in [0, 1, 2, 5] {
        for factor in [10.0, 30.0, 1e2, 1e3, 1e6, 1e12] {
            let worse = worse(&auto(), |lines| bad_line(lines, at, factor));
            assert!(worse < 0.08, "{factor} times too large at {at}: {worse}");
        }
    }
}

/// One value of one feature, in a line with the right label: at first, later, and again and again.
#[test]
fn single_huge_values_leave_the_others_alone() {
    for factor in [10.0, 1e2, 1e6, 1e12] {
        for places in [vec![0], vec![300], (0..EXAMPLES).step_by(100).collect::<Vec<_>>()] {
            let worse = worse(&auto(), |lines| {
                places.iter().for_each(|at| lines[*at].2[at / 100 % FEATURES] *= factor);
            });
            assert!(worse < 0.08, "{factor} times too large {} times: {worse}", places.len());
        }
    }
}

/// Features that nobody has had before the middle, the first values of which are far too large.
#[test]
fn features_that_come_late_and_huge_are_learnt() {
    let late = |lines: &mut Vec<Line>, factor: f64| {
        let middle = EXAMPLES / 2;
        lines[..middle].iter_mut().for_each(|line| line.2[..3].fill(0.0));
        lines[middle].2[..3].iter_mut().for_each(|value| *value *= factor);
    };
    for factor in [1e2, 1e3, 1e6] {
        let (mut clean, mut spoilt) = (0.0, 0.0);
        for seed in [101, 102, 103] {
            for (sum, factor) in [(&mut clean, 1.0), (&mut spoilt, factor)] {
                let mut all = lines(seed);
                late(&mut all, factor);
                *sum += others(&all, &auto());
            }
        }
        assert!(spoilt < 1.05 * clean, "{factor}: {spoilt} instead of {clean}");
    }
}

/// Counts and money: features whose logarithms are normal. The mistakes are those of sizes that grow at once, of six streams.
#[test]
fn heavy_tails_are_no_errors() {
    for (deviation, of_growing_sizes) in [(1.0, 3654), (2.0, 6087)] {
        let mut mistakes = 0;
        for seed in 201..=206 {
            let mut all = lines(seed);
            let exponential = |value: &mut f64| *value = (deviation * *value).exp();
            all.iter_mut().for_each(|line| line.2.iter_mut().for_each(exponential));
            mistakes += run(&all, &auto()).iter().filter(|(mistake, _)| *mistake).count();
        }
        let most = 1.03 * f64::from(of_growing_sizes);
        assert!(mistakes as f64 <= most, "{mistakes} with the deviation {deviation}, at most {most}");
    }
}

/// With real labels a bad line is that much more of a danger: what it says of weights is far from what it says of labels.
#[test]
fn real_labels_withstand_other_units() {
    let mut rows = lines(9);
    rows.iter_mut().for_each(|line| line.1 = line.2.iter().sum::<f64>() + 3.0);
    let error = |rows: &[Line]| {
        let learner = json!({"adaptive": {"loss": "squares"}});
        let mut model = harness::model(&json!({ "learner": learner }));
        let reports = harness::learn(&mut model, &text(rows).replace("qid", "task"));
        let squares: f64 = (reports.iter().zip(rows).skip(20))
            .filter(|(_, line)| line.0 > 0)
            .map(|(report, line)| (report.margin - line.1).powi(2))
            .sum();
        squares.sqrt()
    };
    let clean = error(&rows);
    for factor in [1e2, 1e3, 1e6, 1e12] {
        let mut bad = rows.clone();
        let places = (100..EXAMPLES).step_by(100).filter(|at| rows[*at].0 == 0);
        places.for_each(|at| times(&mut bad[at].2, factor));
        let found = error(&bad);
        assert!(found < 1.1 * clean, "bad lines of {factor}: {found} instead of {clean}");
        let mut task = rows.clone();
        task.iter_mut().skip(20).filter(|line| line.0 == 0).for_each(|line| times(&mut line.2, factor));
        let found = error(&task);
        assert!(found < 1.1 * clean, "a task in units of {factor}: {found} instead of {clean}");
    }
}
