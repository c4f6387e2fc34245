//! `adaptive`: what it reduces to, whether units matter, whether it follows drift, whether its probabilities are right.

use crate::support::harness;
use crate::support::samples::{Sample, samples, text};
use cognate::internal::generator;
use cognate::metrics::Reliability;
use cognate::{Model, SparseView};
use rand::RngExt;
use serde_json::{Value, json};

const TASKS: usize = 5;
const FEATURES: usize = 12;

fn adaptive(parameters: &Value) -> Value {
    json!({ "learner": { "adaptive": parameters } })
}

fn task_name(task: usize) -> String {
    (task + 1).to_string()
}

/// The bits of a run's margins.
fn bits(parameters: &Value, samples: &[Sample]) -> Vec<u64> {
    let mut model = harness::model(&adaptive(parameters));
    let reports = harness::learn(&mut model, &text(samples, task_name));
    reports.iter().map(|report| report.margin.to_bits()).collect()
}

fn mistakes(config: &Value, samples: &[Sample]) -> usize {
    let mut model = harness::model(config);
    let reports = harness::learn(&mut model, &text(samples, task_name));
    reports.iter().filter(|report| report.mistake).count()
}

/// Every choice, apart from the interaction, that makes it work differently inside.
fn variants() -> [Value; 4] {
    [
        json!({}),
        json!({"loss": "hinge", "intercept": false}),
        json!({"forget": 30, "rate": 0.5}),
        json!({"average": true}),
    ]
}

fn with(mut parameters: Value, interaction: &Value) -> Value {
    parameters["interaction"] = interaction.clone();
    parameters
}

#[test]
fn independent_is_a_learner_a_task() {
    let samples = samples(1, TASKS, FEATURES, 600);
    for parameters in variants() {
        let parameters = with(parameters, &json!("independent"));
        let together = bits(&parameters, &samples);
        for task in 0..TASKS {
            let (at, own): (Vec<usize>, Vec<Sample>) =
                samples.iter().cloned().enumerate().filter(|(_, sample)| sample.task == task).unzip();
            let found: Vec<u64> = at.iter().map(|at| together[*at]).collect();
            assert_eq!(found, bits(&parameters, &own), "task {task}, {parameters}");
        }
    }
}

#[test]
fn one_task_is_the_single_task_learner() {
    let samples = samples(2, 1, FEATURES, 400);
    for parameters in variants() {
        let [alone, pooled] =
            ["independent", "pooled"].map(|name| bits(&with(parameters.clone(), &json!(name)), &samples));
        assert_eq!(alone, pooled, "{parameters}");
    }
}

#[test]
fn pooled_does_not_look_at_tasks_and_no_coupling_is_independence_of_weights() {
    let samples = samples(3, TASKS, FEATURES, 400);
    let mut renamed = samples.clone();
    renamed.iter_mut().for_each(|sample| sample.task = 0);
    let pooled = json!({"interaction": "pooled"});
    assert_eq!(bits(&pooled, &samples), bits(&pooled, &renamed));
    // When nothing is shared, a task keeps what it has learnt, whatever the others learn.
    let uncoupled = json!({"interaction": {"coupled": {"b": 0}}});
    let mut model = harness::model(&adaptive(&uncoupled));
    harness::learn(&mut model, &text(&samples, task_name));
    let first = model.tasks().find("1").unwrap();
    let before = model.learner().as_inspect().weights(first);
    let others: Vec<Sample> = samples.iter().filter(|sample| sample.task != 0).cloned().collect();
    harness::learn(&mut model, &text(&others, task_name));
    assert_eq!(model.learner().as_inspect().weights(first), before);
}

/// A graph without edges, and a matrix for one task, leave tasks on their own.
#[test]
fn nothing_given_in_common_is_independence() {
    let (several, one) = (samples(12, TASKS, FEATURES, 500), samples(13, 1, FEATURES, 300));
    let close = |parameters: &Value, interaction: Value, samples: &[Sample]| {
        let independent = bits(&with(parameters.clone(), &json!("independent")), samples);
        let found = bits(&with(parameters.clone(), &interaction), samples);
        for (found, expected) in found.into_iter().zip(independent) {
            let (found, expected) = (f64::from_bits(found), f64::from_bits(expected));
            assert!(
                (found - expected).abs() <= 1e-9 * (1.0 + expected.abs()),
                "{found} {expected} {parameters}"
            );
        }
    };
    for parameters in variants() {
        close(&parameters, json!({"graph": {"edges": []}}), &several);
        close(&parameters, json!({"matrix": {"rows": [[4.0]]}}), &one);
    }
}

/// Two groups of tasks with opposite labels; the graph says which task is in which.
#[test]
fn a_graph_is_made_use_of() {
    let (tasks, mut samples) = (12, samples(9, 12, FEATURES, 1200));
    samples.iter_mut().filter(|sample| sample.task % 2 == 0).for_each(|sample| sample.label = -sample.label);
    let pairs = (0..tasks).flat_map(|to| (0..to).map(move |from| (to, from)));
    let edges: Vec<_> = pairs.filter(|(to, from)| to % 2 == from % 2).collect();
    let edges: Vec<_> = edges.iter().map(|(to, from)| json!([task_name(*to), task_name(*from)])).collect();
    let found = mistakes(&adaptive(&json!({"interaction": {"graph": {"edges": edges}}})), &samples);
    for name in ["independent", "pooled"] {
        let other = mistakes(&adaptive(&json!({ "interaction": name })), &samples);
        assert!((found as f64) < 0.9 * other as f64, "{found} mistakes, {other} by {name}");
    }
}

/// From one example to the next, the margin of a third moves less.
#[test]
fn the_mean_of_the_weights_is_steadier() {
    let samples = samples(21, 1, FEATURES, 600);
    let indices: Vec<u32> = (0..FEATURES as u32).collect();
    let probe = SparseView::try_new(&indices, &samples[0].x).unwrap();
    for interaction in [json!("pooled"), json!({"coupled": {"b": 2}}), json!({"matrix": {"rows": [[1.0]]}})] {
        let [now, mean] = [false, true].map(|average| {
            let mut model =
                harness::model(&adaptive(&json!({"interaction": interaction, "average": average})));
            let said: Vec<f64> = samples
                .iter()
                .map(|sample| {
                    harness::learn(&mut model, &text(std::slice::from_ref(sample), task_name));
                    model.learner().as_predict().margin(model.tasks().find("1").unwrap(), probe)
                })
                .collect();
            let moves: f64 = said[200..].windows(2).map(|pair| (pair[1] - pair[0]).abs()).sum();
            moves / said[599].abs()
        });
        assert!(
            mean < 0.7 * now,
            "{mean} moves of the mean, {now} of the weights as they are; {interaction}"
        );
    }
}

/// Units a thousand times larger or smaller: for all features at once nothing changes, for one feature hardly anything.
#[test]
fn units_hardly_matter() {
    let samples = samples(4, TASKS, FEATURES, 1500);
    for interaction in [json!("independent"), json!({"coupled": {"b": 2}}), json!({"coupled": {"b": "auto"}})]
    {
        let config = adaptive(&json!({ "interaction": interaction }));
        let plain = mistakes(&config, &samples);
        for factor in [1e3, 1e-3] {
            let mut scaled = samples.clone();
            scaled.iter_mut().for_each(|sample| sample.x[3] *= factor);
            let found = mistakes(&config, &scaled);
            let hardly = found.abs_diff(plain) as f64 <= 0.04 * plain as f64;
            assert!(hardly, "{found} mistakes, {plain} in the other units; {interaction}");
            let mut scaled = samples.clone();
            scaled.iter_mut().flat_map(|sample| &mut sample.x).for_each(|x| *x *= factor);
            let found = mistakes(&config, &scaled);
            assert!(found.abs_diff(plain) <= 1, "{found} mistakes, {plain} in other units; {interaction}");
        }
        // A Perceptron does suffer, so the stream is a real test.
        let mut scaled = samples.clone();
        scaled.iter_mut().for_each(|sample| sample.x[3] *= 1e3);
        let perceptron = json!({"learner": "perceptron"});
        let [there, here] = [&scaled, &samples].map(|samples| mistakes(&perceptron, samples));
        assert!(there > here + 20, "{there} mistakes of a Perceptron, {here} in the other units");
    }
}

/// A feature that grows a thousandfold halfway through is not trusted a thousand times more.
#[test]
fn a_sudden_change_of_units_is_survived() {
    let mut samples = samples(5, TASKS, FEATURES, 2000);
    let config = adaptive(&json!({}));
    let plain = mistakes(&config, &samples);
    samples[1000..].iter_mut().for_each(|sample| sample.x[3] *= 1e3);
    let found = mistakes(&config, &samples);
    assert!(found <= plain + 100, "{found} mistakes, {plain} without the change");
}

/// Tasks that turn over: after every period, each has other true weights.
fn drifting(seed: u64, count: usize, period: usize) -> Vec<Sample> {
    let mut rng = generator(seed, 3);
    (0..count)
        .map(|at| {
            let task = rng.random_range(0..TASKS);
            let x: Vec<f64> = (0..FEATURES).map(|_| rng.random_range(-1.0..1.0)).collect();
            let era = (at / period) as f64;
            let truth = |feature: f64| {
                (feature * (3.0 + era)).sin() + 0.3 * (feature * (task as f64 + 2.0) + era).cos()
            };
            let score: f64 = x.iter().enumerate().map(|(at, x)| x * truth(at as f64)).sum();
            Sample { task, x, label: if score >= 0.0 { 1.0 } else { -1.0 } }
        })
        .collect()
}

#[test]
fn forgetting_follows_tasks_that_turn_over() {
    let turning = drifting(1, 12_000, 1500);
    let [kept, forgetful] =
        [json!({}), json!({"forget": 300})].map(|parameters| mistakes(&adaptive(&parameters), &turning));
    assert!(
        (forgetful as f64) < 0.7 * kept as f64,
        "{forgetful} mistakes with a half-life, {kept} without, of {}",
        turning.len()
    );
    // Where nothing turns over, forgetting costs little.
    let still = drifting(1, 12_000, usize::MAX);
    let [kept, forgetful] =
        [json!({}), json!({"forget": 3000})].map(|parameters| mistakes(&adaptive(&parameters), &still));
    assert!((forgetful as f64) < 1.5 * kept as f64 + 50.0, "{forgetful} and {kept}");
}

/// Noisy tasks, so that probabilities matter: labels are drawn from them.
fn drawn(seed: u64, count: usize) -> Vec<Sample> {
    let mut rng = generator(seed, 4);
    (0..count)
        .map(|_| {
            let task = rng.random_range(0..TASKS);
            let x: Vec<f64> = (0..FEATURES).map(|_| rng.random_range(-1.0..1.0)).collect();
            let truth =
                |feature: f64| 1.5 * (feature * 3.0).sin() + 0.5 * (feature * (task as f64 + 2.0)).cos();
            let log_odds: f64 = x.iter().enumerate().map(|(at, x)| x * truth(at as f64)).sum();
            let positive = rng.random_bool(1.0 / (1.0 + (-log_odds).exp()));
            Sample { task, x, label: if positive { 1.0 } else { -1.0 } }
        })
        .collect()
}

/// Among examples predicted with probability about q, the share of positive ones is about q.
#[test]
fn probabilities_are_calibrated() {
    let samples = drawn(1, 20_000);
    for parameters in [json!({}), json!({"interaction": {"coupled": {"b": 3}}}), json!({"loss": "hinge"})] {
        let mut model = harness::model(&adaptive(&parameters));
        let reports = harness::learn(&mut model, &text(&samples, task_name));
        let inspect = model.learner().as_inspect();
        let mut reliability = Reliability::default();
        for report in &reports[2000..] {
            let probability = inspect.probability(report.margin).unwrap();
            assert!((0.0..=1.0).contains(&probability));
            reliability.record(probability, report.label, 1.0);
        }
        for bin in reliability.bins().iter().filter(|bin| bin.examples >= 500) {
            let [said, came] = [bin.mean_said(), bin.share_came()].map(Option::unwrap);
            assert!((said - came).abs() < 0.06, "{parameters}: {reliability:?}");
        }
        let gap = reliability.calibration_error();
        assert!(gap < 0.03, "{parameters}: expected calibration error {gap}");
    }
    let hinge = harness::model(&adaptive(&json!({"loss": "hinge", "interaction": "independent"})));
    assert_eq!(hinge.learner().as_inspect().probability(1.0), None, "hinge margins are no log-odds");
}

#[test]
fn weights_say_what_is_predicted() {
    let samples = samples(6, TASKS, FEATURES, 500);
    let probe = &samples[17];
    for parameters in variants().into_iter().chain([json!({"interaction": "pooled"})]) {
        let mut model = harness::model(&adaptive(&parameters));
        harness::learn(&mut model, &text(&samples, task_name));
        let task = model.tasks().find(&task_name(probe.task)).unwrap();
        let weights = model.learner().as_inspect().weights(task);
        let value = |feature: u32| probe.x.get(feature as usize).copied().unwrap_or(1.0);
        let linear: f64 = weights.iter().map(|(feature, weight)| weight * value(*feature)).sum();
        let (indices, values): (Vec<u32>, Vec<f64>) =
            probe.x.iter().enumerate().map(|(at, x)| (at as u32, *x)).unzip();
        let x = cognate::SparseView::try_new(&indices, &values).unwrap();
        let margin = model.learner().as_predict().margin(task, x);
        assert!((linear - margin).abs() < 1e-9, "{parameters}: {linear} and {margin}");
    }
}

/// Where sharing pays, it is found; where it does not, it is not forced.
#[test]
fn the_strength_of_sharing_is_found() {
    let share = |samples: &[Sample]| {
        let errors =
            ["independent", "pooled"].map(|name| mistakes(&adaptive(&json!({"interaction": name})), samples));
        (mistakes(&adaptive(&json!({})), samples), errors.into_iter().min().unwrap())
    };
    let alike = samples(7, 40, FEATURES, 1600);
    let mut unlike = samples(8, TASKS, FEATURES, 3000);
    for sample in &mut unlike {
        if sample.task % 2 == 0 {
            sample.label = -sample.label;
        }
    }
    for samples in [alike, unlike] {
        let (found, best) = share(&samples);
        assert!(found as f64 <= 1.05 * best as f64, "{found} mistakes, {best} by the better of none and all");
    }
}

/// Every fourth task is the opposite of the others: it finds its side, and teaches them as well as any other.
#[test]
fn opposed_tasks_teach_each_other() {
    let mut opposed = samples(7, 40, FEATURES, 8000);
    opposed.iter_mut().filter(|sample| sample.task % 4 == 1).for_each(|sample| sample.label = -sample.label);
    let fixed = [json!("independent"), json!("pooled"), json!({"coupled": {"b": 40}})]
        .map(|interaction| mistakes(&adaptive(&json!({"interaction": interaction})), &opposed));
    let found = mistakes(&adaptive(&json!({})), &opposed);
    let best = fixed.into_iter().min().unwrap();
    assert!(found < best, "{found} mistakes, without sides {fixed:?}");
}

/// A few examples of related tasks must not make them opposed.
#[test]
fn related_tasks_stay_on_one_side() {
    let (tasks, mut opposed) = (5, 0);
    for seed in 0..40 {
        let mut model = harness::model(&adaptive(&json!({})));
        harness::learn(&mut model, &text(&samples(seed, tasks, FEATURES, 400), task_name));
        let relation =
            |to, from| model.learner().as_inspect().relation(cognate::TaskId(to), cognate::TaskId(from));
        let pairs = (0..tasks as u32).flat_map(|to| (0..to).map(move |from| (to, from)));
        opposed += pairs.filter(|(to, from)| relation(*to, *from) <= 0.0).count();
    }
    assert_eq!(opposed, 0, "of 400 pairs");
}

fn label_of_kind(task: usize, x: &[f64], is_flipped: bool) -> f64 {
    let weight =
        |at: usize| if is_first_kind(task) { (7.0 * at as f64).sin() } else { (5.0 * at as f64 + 1.0).cos() };
    let score: f64 = x.iter().enumerate().map(|(at, x)| x * weight(at)).sum();
    if ((score > 0.0) == is_upright(task)) == is_flipped { -1.0 } else { 1.0 }
}

/// Tasks of two kinds, each on both sides, one label in ten flipped: what one kind learns is of no use to the other.
fn two_kinds(seed: u64, examples: usize) -> Vec<Sample> {
    let mut rng = generator(5, 0);
    let sorted = samples(seed, 60, 100, examples).into_iter().map(|Sample { task, x, .. }| {
        let label = label_of_kind(task, &x, rng.random_bool(0.1));
        Sample { task, x, label }
    });
    sorted.collect()
}

fn is_first_kind(task: usize) -> bool {
    (task / 3).is_multiple_of(2)
}

fn is_upright(task: usize) -> bool {
    (task / 5).is_multiple_of(2)
}

#[test]
fn tasks_of_two_kinds_sort_themselves_into_groups() {
    let sorted = two_kinds(7, 20_000);
    let groups = [json!(1), json!(2), json!(6), json!("auto")];
    let found = groups.map(|groups| mistakes(&adaptive(&json!({ "groups": groups })), &sorted));
    let [one, two, many, auto] = found;
    assert!(two < one && 10 * many < 9 * one, "{found:?} mistakes in 1, 2, 6 and found groups");
    assert!(auto < many && auto < two, "{found:?} mistakes in 1, 2, 6 and found groups");
}

/// Groups that are found are the kinds, and sides the sides; saved in mid-stream, before they are found and after, to the bit.
#[test]
fn groups_are_found_whatever_the_order_of_tasks_and_survive_a_file() {
    let relation = |model: &Model, one: usize, other: usize| {
        let task = |task: usize| model.task(&task_name(task)).unwrap();
        model.learner().as_inspect().relation(task(one), task(other))
    };
    for seed in [8, 9] {
        let sorted = two_kinds(seed, 20_000);
        let mut unbroken = harness::model(&adaptive(&json!({})));
        harness::learn(&mut unbroken, &text(&sorted, task_name));
        let mut wrong = 0;
        for one in 0..60 {
            for other in 0..one {
                let side = if is_upright(one) == is_upright(other) { 1.0 } else { -1.0 };
                let truth = if is_first_kind(one) == is_first_kind(other) { side } else { 0.0 };
                let found = relation(&unbroken, one, other);
                wrong += usize::from(
                    found == 0.0 && truth != 0.0 || found * truth < 0.0 || (truth == 0.0 && found != 0.0),
                );
            }
        }
        assert!(wrong <= 60, "{wrong} of 1770 pairs, seed {seed}");
        for end in [3_000, 12_001] {
            let mut first = harness::model(&adaptive(&json!({})));
            harness::learn(&mut first, &text(&sorted[..end], task_name));
            let mut second = Model::from_bytes(&first.to_bytes()).unwrap();
            harness::learn(&mut second, &text(&sorted[end..], task_name));
            assert!(second.to_bytes() == unbroken.to_bytes(), "resumed after {end}");
        }
    }
}

/// Every fourth task becomes one of the other kind when groups have long been found: it goes there, and is on its side.
#[test]
fn tasks_that_change_their_kind_are_followed() {
    for seed in [8, 9] {
        // A task that turns has labels like one of the other kind, which does not turn.
        let twin = |task: usize| if is_first_kind(task) { 4 } else { 1 };
        let turns = |task: usize| task % 4 == 2;
        let mut sorted = two_kinds(seed, 30_000);
        let (_, later) = sorted.split_at_mut(15_000);
        let mut rng = generator(seed, 9);
        for sample in later.iter_mut().filter(|sample| turns(sample.task)) {
            sample.label = label_of_kind(twin(sample.task), &sample.x, rng.random_bool(0.1));
        }
        let late = |groups: &Value| {
            let mut model = harness::model(&adaptive(&json!({ "groups": groups })));
            let reports = harness::learn(&mut model, &text(&sorted, task_name));
            let wrong = reports[22_500..].iter().filter(|report| report.mistake).count();
            (wrong, model)
        };
        let ((one, _), (auto, model)) = (late(&json!(1)), late(&json!("auto")));
        assert!(10 * auto < 9 * one, "{auto} late mistakes, {one} in one group, seed {seed}");
        let learner = model.learner().as_inspect();
        let place = |task: usize| learner.place(model.task(&task_name(task)).unwrap()).unwrap();
        let same_group =
            (0..60).filter(|task| turns(*task)).filter(|task| place(*task).group == place(twin(*task)).group);
        let (found, all) = (same_group.count(), (0..60).filter(|task| turns(*task)).count());
        assert!(4 * found >= 3 * all, "{found} of {all} tasks are with their new kind, seed {seed}");
    }
}

/// The adjusted Rand index of two partitions: 1 where they are the same, 0 on average where they have nothing in common.
fn adjusted_rand_index(one: &[usize], other: &[usize]) -> f64 {
    let (mut both, mut first, mut second, mut pairs) = (0.0, 0.0, 0.0, 0.0);
    for at in 0..one.len() {
        for before in 0..at {
            let (a, b) = (one[at] == one[before], other[at] == other[before]);
            both += f64::from(a && b);
            first += f64::from(a);
            second += f64::from(b);
            pairs += 1.0;
        }
    }
    let chance = first * second / pairs;
    (both - chance) / (f64::midpoint(first, second) - chance)
}

/// With 2,000 examples of every task. That streams of one kind have one group is `tasks_of_one_kind_stay_in_one_group`.
#[test]
fn found_groups_are_the_true_ones() {
    for seed in [21, 22] {
        let mut model = harness::model(&adaptive(&json!({})));
        harness::learn(&mut model, &text(&two_kinds(seed, 120_000), task_name));
        let learner = model.learner().as_inspect();
        let group = |task: usize| learner.place(model.task(&task_name(task)).unwrap()).unwrap().group;
        let (found, truth): (Vec<usize>, Vec<usize>) =
            (0..60).map(|task| (group(task), usize::from(is_first_kind(task)))).unzip();
        let index = adjusted_rand_index(&truth, &found);
        assert!(index >= 0.9, "{index}, seed {seed}: {found:?}");
    }
}

/// Where there is next to nothing to compare, nothing happens.
#[test]
fn a_single_task_and_thousands_with_one_example_stay_in_one_group() {
    let many: Vec<Sample> = samples(3, 1, 30, 9000)
        .into_iter()
        .enumerate()
        .map(|(task, sample)| Sample { task, ..sample })
        .collect();
    for stream in [samples(3, 1, 30, 9000), many] {
        let model = |groups: Value| {
            let mut model = harness::model(&adaptive(&json!({ "groups": groups })));
            let reports = harness::learn(&mut model, &text(&stream, task_name));
            (reports.iter().map(|report| report.margin.to_bits()).collect::<Vec<_>>(), model)
        };
        let ((one, _), (auto, model)) = (model(json!(1)), model(json!("auto")));
        assert_eq!(one, auto);
        let tasks = model.tasks().sorted();
        let likeness = model.learner().as_inspect().likeness(&tasks[..tasks.len().min(50)]).unwrap();
        let pairs = (0..likeness.size()).flat_map(|one| (0..one).map(move |other| (one, other)));
        assert!(pairs.into_iter().all(|(one, other)| likeness.pair(one, other).is_none()));
    }
}

/// Groups, sides and strengths are the true ones, saved and loaded to the bit; some tasks are like those of all.
#[test]
fn likeness_follows_kinds_and_sides() {
    let mut model = harness::model(&adaptive(&json!({})));
    harness::learn(&mut model, &text(&two_kinds(11, 30_000), task_name));
    let tasks: Vec<_> = (0..60).map(|task| model.task(&task_name(task)).unwrap()).collect();
    let likeness = model.learner().as_inspect().likeness(&tasks).unwrap();
    let (mut known, mut related) = (0, 0);
    for one in 0..60 {
        for other in 0..one {
            let side = if is_upright(one) == is_upright(other) { 1.0 } else { -1.0 };
            let is_related = is_first_kind(one) == is_first_kind(other);
            related += usize::from(is_related);
            match likeness.pair(one, other) {
                Some((strength, deviation)) if is_related => {
                    assert!(strength * side > 0.8 && deviation > 0.0, "{one} and {other}: {strength}");
                    known += 1;
                }
                found => assert!(
                    found.is_none_or(|(strength, _)| strength.abs() < 0.6),
                    "{one} and {other}: {found:?}"
                ),
            }
        }
    }
    assert!(4 * known > 3 * related, "{known} of {related} pairs");
    let some = model.learner().as_inspect().likeness(&tasks[..7]).unwrap();
    let saved = Model::from_bytes(&model.to_bytes()).unwrap();
    assert_eq!(saved.learner().as_inspect().likeness(&tasks).unwrap(), likeness);
    let same = |a: f64, b: f64| (a - b).abs() < 0.05;
    let (a, b) = (some.pair(0, 1), likeness.pair(0, 1));
    assert!(a.zip(b).is_none_or(|(a, b)| same(a.0, b.0)), "of some tasks as of all: {a:?} {b:?}");
}

/// Relatives, all of one kind, stay in one group: the default is one group to the bit.
#[test]
fn tasks_of_one_kind_stay_in_one_group() {
    for seed in 0..20 {
        let related = samples(seed, 20, 60, 9_000);
        let mistakes = [json!(1), json!("auto")].map(|groups| {
            let mut model = harness::model(&adaptive(&json!({ "groups": groups })));
            harness::learn(&mut model, &text(&related, task_name));
            model.learner().as_inspect().shared_vectors().len()
        });
        assert_eq!(mistakes, [2, 2], "pooled and coupled, seed {seed}");
    }
}

/// From some number of examples on, of all and of their tasks, doubts leave examples out: the run passes that point, is saved and resumes
/// there.
#[test]
fn a_long_run_that_is_broken_off_goes_on_to_the_bit() {
    let long = samples(3, 20, 12, 40_000);
    let mut unbroken = harness::model(&adaptive(&json!({})));
    harness::learn(&mut unbroken, &text(&long, task_name));
    let mut first = harness::model(&adaptive(&json!({})));
    harness::learn(&mut first, &text(&long[..36_001], task_name));
    let mut second = Model::from_bytes(&first.to_bytes()).unwrap();
    harness::learn(&mut second, &text(&long[36_001..], task_name));
    assert!(second.to_bytes() == unbroken.to_bytes());
}
