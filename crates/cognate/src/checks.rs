//! Conformance: what every learner must do, whatever it learns.
//!
//! [`CHECKS`] is a table of named functions; each takes a config, builds learners from it, and says what is wrong
//! with them. `tests/it/conformance.rs` runs every check on every registered learner:
//!
//! ```
//! use cognate::{LearnerConfig, internal::CHECKS};
//!
//! let config = LearnerConfig::from_id("perceptron").unwrap();
//! for (name, check) in CHECKS {
//!     assert_eq!(check(&config), Ok(()), "{name}");
//! }
//! ```

mod parameters;
mod samples;
mod variance;

use samples::{Sample, samples, shuffled_names};
use variance::variance_is_sound_and_shrinks;

use crate::algorithms::{Learner, LearnerConfig};
use crate::config::RunConfig;
use crate::example::{BIAS_FEATURE, Example, SparseView, TaskId};
use crate::interaction::InteractionConfig;
use crate::learner::Outcome;
use crate::model::Model;
use crate::run;
use crate::stream::Batch;
use crate::tasks::Tasks;

/// A check: nothing, or what is wrong.
pub type Check = fn(&LearnerConfig) -> Result<(), String>;

macro_rules! checks {
    ($($name:ident,)*) => {
        /// Every check with its name.
        pub const CHECKS: &[(&str, Check)] = &[$((stringify!($name), $name),)*];
    };
}

checks! {
    config_builds_and_comes_back,
    bad_values_are_rejected_by_name,
    predicts_before_learning,
    margin_is_pure,
    variance_is_sound_and_shrinks,
    margins_are_one_by_one,
    learn_is_margin_then_update,
    learn_batch_is_one_by_one,
    a_round_of_one_is_an_example,
    rounds_give_margins_before_updates,
    margins_in_between_do_not_matter,
    a_round_skipped_meets_its_task_and_teaches_nothing,
    influence_sums_a_row_of_the_relation,
    example_is_not_kept,
    same_stream_same_bits,
    resumed_is_unbroken,
    clones_share_nothing,
    zero_vectors_are_harmless,
    a_single_task_is_harmless,
    a_task_never_seen_is_harmless,
    tasks_may_be_met_on_the_way,
    nothing_becomes_nan,
    memory_stays_within_cost,
    permuted_tasks_permute_results,
}

macro_rules! ensure {
    ($condition:expr, $($message:tt)*) => {
        let holds: bool = $condition;
        if !holds {
            return Err(format!($($message)*));
        }
    };
}
use ensure;

/// Tasks of a stream, where the config does not name more.
const TASKS: usize = 4;

/// The tasks that the config itself speaks of, as a run would declare them.
fn own_tasks(config: &LearnerConfig) -> Result<Tasks, String> {
    run_config(config).declared_tasks().map_err(|error| error.to_string())
}

fn run_config(config: &LearnerConfig) -> RunConfig {
    RunConfig { learner: config.clone(), ..RunConfig::default() }
}

/// Names of the config's own tasks, and of as many more as make [`TASKS`].
fn task_names(config: &LearnerConfig) -> Result<Vec<String>, String> {
    let mut tasks = own_tasks(config)?;
    for name in ["ann", "7", "bob", "11"] {
        if tasks.len() < TASKS {
            // A closed set keeps to its own.
            let _ = tasks.meet(name);
        }
    }
    Ok(tasks.names().map(str::to_owned).collect())
}

fn named(names: &[String]) -> Result<Tasks, String> {
    Tasks::named(names.iter().map(String::as_str)).map_err(|name| format!("the name {name:?} repeats"))
}

fn build(config: &LearnerConfig, tasks: &Tasks) -> Result<Learner, String> {
    config.build(tasks).map_err(|error| error.to_string())
}

/// A new learner that knows all tasks of the stream.
fn fresh(config: &LearnerConfig) -> Result<Learner, String> {
    build(config, &named(&task_names(config)?)?)
}

/// A stream over all tasks of [`fresh`].
fn stream(config: &LearnerConfig, seed: u64, count: usize) -> Result<Vec<Sample>, String> {
    Ok(samples(seed, task_names(config)?.len(), count))
}

fn margin(learner: &Learner, sample: &Sample) -> f64 {
    learner.as_predict().margin(sample.task, sample.features())
}

fn learn(learner: &mut Learner, samples: &[Sample]) -> Vec<Outcome> {
    let learner = learner.as_learn_one();
    samples.iter().map(|sample| learner.learn(sample.example())).collect()
}

fn same_outcomes(left: &[Outcome], right: &[Outcome]) -> bool {
    let bits = |outcome: &Outcome| (outcome.margin.to_bits(), outcome.updated);
    left.iter().map(bits).eq(right.iter().map(bits))
}

/// That every margin and every weight is finite, and that the state can be saved and restored.
fn ensure_sound(learner: &Learner, config: &LearnerConfig, probes: &[Sample]) -> Result<(), String> {
    for probe in probes {
        let margin = margin(learner, probe);
        ensure!(margin.is_finite(), "margin {margin} of {:?}", probe.example());
    }
    for task in 0..learner.as_inspect().tasks() as u32 {
        let weights = learner.as_inspect().weights(TaskId(task));
        let bad = weights.iter().find(|pair| !pair.1.is_finite());
        ensure!(bad.is_none(), "weight {bad:?} of task {task}");
    }
    let bytes = learner.to_bytes();
    let mut restored = build(config, &named(&task_names(config)?)?)?;
    restored.restore(&bytes).map_err(|error| error.to_string())?;
    ensure!(restored.to_bytes() == bytes, "saved and restored, the state differs");
    Ok(())
}

fn config_builds_and_comes_back(config: &LearnerConfig) -> Result<(), String> {
    run_config(config).validate().map_err(|error| error.to_string())?;
    let json = serde_json::to_string(config).map_err(|error| error.to_string())?;
    let back: LearnerConfig = serde_json::from_str(&json).map_err(|error| error.to_string())?;
    ensure!(back == *config, "{json} comes back as {back:?}");
    let own = own_tasks(config)?;
    let learner = build(config, &own)?;
    ensure!(learner.about().id == config.id(), "built {}", learner.about().id);
    let tasks = learner.as_inspect().tasks();
    ensure!(tasks == own.count(), "{tasks} tasks, {} are declared", own.count());
    ensure!(fresh(config)?.to_bytes() == fresh(&back)?.to_bytes(), "two builds differ");
    Ok(())
}

fn bad_values_are_rejected_by_name(config: &LearnerConfig) -> Result<(), String> {
    parameters::reject_bad_values(config.id())
}

fn predicts_before_learning(config: &LearnerConfig) -> Result<(), String> {
    let learner = fresh(config)?;
    for sample in &stream(config, 1, 40)? {
        let margin = margin(&learner, sample);
        ensure!(margin.is_finite(), "a fresh learner's margin is {margin}");
    }
    Ok(())
}

fn margin_is_pure(config: &LearnerConfig) -> Result<(), String> {
    let samples = stream(config, 2, 200)?;
    let (mut asked, mut unasked) = (fresh(config)?, fresh(config)?);
    learn(&mut asked, &samples[..100]);
    learn(&mut unasked, &samples[..100]);
    let before = asked.to_bytes();
    for probe in &stream(config, 3, 100)? {
        let (first, second) = (margin(&asked, probe), margin(&asked, probe));
        ensure!(first.to_bits() == second.to_bits(), "{first} at first, then {second}");
    }
    ensure!(asked.to_bytes() == before, "asking for margins changed the state");
    // Nor does anything that is not saved remember the questions.
    let later = (learn(&mut asked, &samples[100..]), learn(&mut unasked, &samples[100..]));
    ensure!(same_outcomes(&later.0, &later.1), "asking for margins changed what was learnt later");
    Ok(())
}

fn margins_are_one_by_one(config: &LearnerConfig) -> Result<(), String> {
    let (samples, tasks) = (stream(config, 24, 200)?, task_names(config)?.len() as u32);
    let mut batch = Batch::default();
    samples.iter().for_each(|sample| batch.push(sample.example()));
    // The numbers of the tasks may stand for others, some of which the learner may not know.
    let known = own_tasks(config)?.limit().is_some();
    let task_of = |task: TaskId| if known { TaskId((task.0 + 1) % tasks) } else { TaskId(task.0 + 1) };
    let mut learner = fresh(config)?;
    for half in samples.chunks(100) {
        let mut margins = Vec::new();
        learner.as_predict().margins(&batch, &task_of, &mut margins);
        let expected = samples
            .iter()
            .map(|sample| learner.as_predict().margin(task_of(sample.task), sample.features()).to_bits());
        ensure!(
            margins.iter().map(|margin| margin.to_bits()).eq(expected),
            "margins of a batch are not those of its examples"
        );
        learn(&mut learner, half);
    }
    Ok(())
}

fn learn_is_margin_then_update(config: &LearnerConfig) -> Result<(), String> {
    let (mut one, mut two) = (fresh(config)?, fresh(config)?);
    let mut updates = 0;
    for (at, sample) in stream(config, 4, 300)?.iter().enumerate() {
        let outcome = one.as_learn_one().learn(sample.example());
        let margin = margin(&two, sample);
        let updated = two.as_learn_one().update(sample.example(), margin);
        let steps = [Outcome { margin, updated }];
        ensure!(same_outcomes(&[outcome], &steps), "example {at}: {outcome:?} against {steps:?}");
        ensure!(one.to_bytes() == two.to_bytes(), "after example {at} the states differ");
        updates += usize::from(updated);
    }
    ensure!(updates > 0, "300 examples and no update");
    Ok(())
}

fn learn_batch_is_one_by_one(config: &LearnerConfig) -> Result<(), String> {
    let samples = stream(config, 17, 600)?;
    let mut single = fresh(config)?;
    let expected = learn(&mut single, &samples);
    for size in [1, 2, 3, 5, 17, 600] {
        let (mut batched, mut found) = (fresh(config)?, Vec::new());
        // One buffer for all batches: what a batch leaves in it is not the next one's.
        let mut outcomes = Vec::new();
        for part in samples.chunks(size) {
            let mut batch = Batch::default();
            for sample in part {
                batch.push(sample.example());
            }
            batched.as_learn_one().learn_batch(&batch, &mut outcomes);
            ensure!(outcomes.len() == part.len(), "{} outcomes of {} examples", outcomes.len(), part.len());
            found.append(&mut outcomes.clone());
        }
        ensure!(same_outcomes(&found, &expected), "batches of {size} give other margins");
        ensure!(batched.to_bytes() == single.to_bytes(), "batches of {size} end in another state");
    }
    Ok(())
}

fn a_round_of_one_is_an_example(config: &LearnerConfig) -> Result<(), String> {
    let (mut single, mut rounds) = (fresh(config)?, fresh(config)?);
    let mut outcomes = Vec::new();
    for (at, sample) in stream(config, 18, 200)?.iter().enumerate() {
        let mut round = Batch::default();
        round.push(sample.example());
        rounds.as_learn_one().learn_round(&round, &mut outcomes);
        let outcome = single.as_learn_one().learn(sample.example());
        ensure!(same_outcomes(&outcomes, &[outcome]), "example {at}: {outcomes:?} against {outcome:?}");
    }
    ensure!(rounds.to_bytes() == single.to_bytes(), "rounds of one end in another state");
    Ok(())
}

fn rounds_give_margins_before_updates(config: &LearnerConfig) -> Result<(), String> {
    let (mut learner, tasks) = (fresh(config)?, task_names(config)?.len());
    let (mut outcomes, mut updates) = (Vec::new(), 0);
    for (at, samples) in stream(config, 19, 50 * tasks)?.chunks(tasks).enumerate() {
        let mut round = Batch::default();
        // One of every task, in another order each round.
        for (place, sample) in samples.iter().enumerate() {
            let task = TaskId(((place + at) % tasks) as u32);
            round.push(Example { task, ..sample.example() });
        }
        let before: Vec<f64> =
            round.examples().map(|x| learner.as_predict().margin(x.task, x.features)).collect();
        learner.as_learn_one().learn_round(&round, &mut outcomes);
        let found = outcomes.iter().map(|outcome| outcome.margin.to_bits());
        ensure!(
            found.eq(before.iter().map(|margin| margin.to_bits())),
            "round {at}: {outcomes:?}, {before:?}"
        );
        updates += outcomes.iter().filter(|outcome| outcome.updated).count();
    }
    ensure!(updates > 0, "50 rounds and no update");
    Ok(())
}

fn margins_in_between_do_not_matter(config: &LearnerConfig) -> Result<(), String> {
    let samples = stream(config, 5, 200)?;
    let (mut plain, mut distracted) = (fresh(config)?, fresh(config)?);
    learn(&mut plain, &samples);
    for (at, sample) in samples.iter().enumerate() {
        let found = margin(&distracted, sample);
        for other in [&samples[(at + 1) % 200], &samples[(at + 77) % 200]] {
            margin(&distracted, other);
        }
        distracted.as_learn_one().update(sample.example(), found);
    }
    ensure!(plain.to_bytes() == distracted.to_bytes(), "margins before an update changed the update");
    Ok(())
}

fn a_round_skipped_meets_its_task_and_teaches_nothing(config: &LearnerConfig) -> Result<(), String> {
    let samples = stream(config, 20, 200)?;
    let mut learner = fresh(config)?;
    learn(&mut learner, &samples);
    let bits = |learner: &Learner| -> Vec<u64> {
        samples.iter().map(|sample| margin(learner, sample).to_bits()).collect()
    };
    let before = bits(&learner);
    for sample in &samples[..20] {
        learner.as_learn_one().skip(sample.task);
        ensure!(bits(&learner) == before, "skipping an example of a task met before moved a margin");
    }
    ensure_sound(&learner, config, &samples)?;
    let mut tasks = own_tasks(config)?;
    if tasks.limit().is_none() {
        // Seen only, a task is met as one whose first example taught nothing: by a right prediction, here of nothing.
        let mut learner = build(config, &tasks)?;
        let new = TaskId(tasks.len() as u32);
        let _ = tasks.meet("another");
        learner.as_learn_one().skip(new);
        let met = learner.as_inspect().tasks();
        ensure!(met == tasks.len(), "{met} tasks after skipping an example of task {}", new.0);
        let mut restored = build(config, &tasks)?;
        restored.restore(&learner.to_bytes()).map_err(|error| error.to_string())?;
        learn(&mut learner, &samples);
        learn(&mut restored, &samples);
        ensure!(
            restored.to_bytes() == learner.to_bytes(),
            "saved after a skip and restored, it learns otherwise"
        );
    }
    Ok(())
}

fn influence_sums_a_row_of_the_relation(config: &LearnerConfig) -> Result<(), String> {
    let mut learner = fresh(config)?;
    learn(&mut learner, &stream(config, 21, 200)?);
    let inspect = learner.as_inspect();
    for task in (0..inspect.tasks() as u32).map(TaskId) {
        let relations = (0..inspect.tasks() as u32).map(|from| inspect.relation(task, TaskId(from)).abs());
        let (sum, influence) = (relations.sum::<f64>(), inspect.influence(task));
        ensure!((sum - influence).abs() <= 1e-9 * (1.0 + sum), "task {}: {influence}, not {sum}", task.0);
    }
    // A task that has not occurred counts among the tasks.
    let new = TaskId(inspect.tasks() as u32);
    let influence = inspect.influence(new);
    ensure!(influence.is_finite() && influence >= 0.0, "the influence of a new task is {influence}");
    Ok(())
}

fn example_is_not_kept(config: &LearnerConfig) -> Result<(), String> {
    let samples = stream(config, 6, 200)?;
    let (mut reference, mut reusing) = (fresh(config)?, fresh(config)?);
    learn(&mut reference, &samples);
    // One pair of buffers, overwritten after every example.
    let (mut indices, mut values) = (vec![0_u32; 64], vec![0.0_f64; 64]);
    for sample in &samples {
        let length = sample.indices.len();
        indices[..length].copy_from_slice(&sample.indices);
        values[..length].copy_from_slice(&sample.values);
        let features = SparseView::trusted(&indices[..length], &values[..length]);
        reusing.as_learn_one().learn(Example { features, ..sample.example() });
        let kept = indices[..length] == sample.indices[..] && values[..length] == sample.values[..];
        ensure!(kept, "the example was modified");
        indices.fill(9);
        values.fill(-1e9);
    }
    ensure!(reference.to_bytes() == reusing.to_bytes(), "what became of an example's buffer mattered");
    Ok(())
}

fn same_stream_same_bits(config: &LearnerConfig) -> Result<(), String> {
    let samples = stream(config, 7, 300)?;
    let (mut one, mut two) = (fresh(config)?, fresh(config)?);
    let outcomes = (learn(&mut one, &samples), learn(&mut two, &samples));
    ensure!(same_outcomes(&outcomes.0, &outcomes.1), "two runs gave different margins");
    ensure!(one.to_bytes() == two.to_bytes(), "two runs ended in different states");
    Ok(())
}

fn resumed_is_unbroken(config: &LearnerConfig) -> Result<(), String> {
    let names = task_names(config)?;
    // Later tasks come late, so that a model is resumed before it knows them all.
    let mut samples = samples(8, names.len(), 300);
    samples.sort_by_key(|sample| sample.task.index().saturating_sub(1));
    let run = |model: &mut Model, part: &[Sample]| -> Result<(), String> {
        let mut stream = samples::memory(part, &names).numbered_as(model.tasks());
        let ran = run::learn(model, &mut stream, &run::RunOptions::default(), &mut ());
        ran.map(drop).map_err(|error| error.to_string())
    };
    let fresh = || Model::new(&run_config(config)).map_err(|error| error.to_string());
    let mut unbroken = fresh()?;
    run(&mut unbroken, &samples)?;
    for cut in [0, 1, 50, 151, 200, 299, 300] {
        let mut model = fresh()?;
        run(&mut model, &samples[..cut])?;
        let mut resumed = Model::from_bytes(&model.to_bytes()).map_err(|error| error.to_string())?;
        run(&mut resumed, &samples[cut..])?;
        ensure!(resumed.to_bytes() == unbroken.to_bytes(), "resumed after {cut} of 300, the model differs");
    }
    Ok(())
}

fn clones_share_nothing(config: &LearnerConfig) -> Result<(), String> {
    let samples = stream(config, 9, 200)?;
    let mut original = fresh(config)?;
    learn(&mut original, &samples[..100]);
    let (mut copy, before) = (original.clone(), original.to_bytes());
    learn(&mut original, &samples[100..]);
    ensure!(original.to_bytes() != before, "100 examples changed nothing");
    ensure!(copy.to_bytes() == before, "learning changed a copy");
    learn(&mut copy, &samples[100..]);
    ensure!(copy.to_bytes() == original.to_bytes(), "a copy learns otherwise");
    Ok(())
}

fn zero_vectors_are_harmless(config: &LearnerConfig) -> Result<(), String> {
    let samples = stream(config, 10, 100)?;
    let zeros = [vec![], vec![(3_u32, 0.0)], vec![(3, -0.0), (100_000, 0.0)]];
    let mut learner = fresh(config)?;
    for (at, sample) in samples.iter().enumerate() {
        let mut zero = Sample::new(sample.task, &zeros[at % zeros.len()], sample.label);
        for label in [1.0, -1.0] {
            zero.label = label;
            learn(&mut learner, std::slice::from_ref(&zero));
        }
        learn(&mut learner, std::slice::from_ref(sample));
    }
    ensure_sound(&learner, config, &samples)
}

fn a_single_task_is_harmless(config: &LearnerConfig) -> Result<(), String> {
    let mut samples = stream(config, 11, 100)?;
    for sample in &mut samples {
        sample.task = TaskId(0);
    }
    let mut learner = fresh(config)?;
    learn(&mut learner, &samples);
    ensure_sound(&learner, config, &samples)?;
    let own = own_tasks(config)?;
    if own.is_empty() && own.limit().is_none() {
        // K = 1 altogether, declared and met.
        let only = Tasks::named(["only"]).unwrap_or_default();
        let (mut declared, mut met) = (build(config, &only)?, build(config, &own)?);
        let outcomes = (learn(&mut declared, &samples), learn(&mut met, &samples));
        ensure!(outcomes.0.iter().all(|outcome| outcome.margin.is_finite()), "a margin is not finite");
        ensure!(same_outcomes(&outcomes.0, &outcomes.1), "one task declared is not one task met");
    }
    Ok(())
}

fn a_task_never_seen_is_harmless(config: &LearnerConfig) -> Result<(), String> {
    let samples = stream(config, 12, 200)?;
    let last = TaskId(task_names(config)?.len() as u32 - 1);
    let mut learner = fresh(config)?;
    let others: Vec<Sample> = samples.iter().filter(|sample| sample.task != last).cloned().collect();
    learn(&mut learner, &others);
    let (tasks, before) = (learner.as_inspect().tasks(), learner.to_bytes());
    for task in [last, TaskId(last.0 + 1), TaskId(1_000_000)] {
        let probe = Sample { task, ..samples[0].clone() };
        let margin = margin(&learner, &probe);
        ensure!(margin.is_finite(), "the margin of a task never seen is {margin}");
        learner.as_inspect().weights(task);
        let relation = learner.as_inspect().relation(task, TaskId(0));
        ensure!(relation.is_finite(), "the relation to a task never seen is {relation}");
    }
    ensure!(learner.as_inspect().tasks() == tasks, "asking about a task met it");
    ensure!(learner.to_bytes() == before, "asking about a task never seen changed the state");
    learn(&mut learner, &samples);
    ensure_sound(&learner, config, &samples)
}

fn tasks_may_be_met_on_the_way(config: &LearnerConfig) -> Result<(), String> {
    let mut tasks = own_tasks(config)?;
    if tasks.limit().is_some() {
        let refused = tasks.meet("another").is_err();
        ensure!(refused, "a closed set of tasks took another one");
        return Ok(());
    }
    let (known, mut met) = (tasks.len(), tasks.len());
    let mut learner = build(config, &tasks)?;
    // A dozen examples per task, in the order of their numbers; they come back in between.
    for (at, sample) in samples(13, 20, 400).iter().enumerate() {
        let task = TaskId((known as u32 + at as u32 / 12).min(sample.task.0 + known as u32));
        met = met.max(task.index() + 1);
        let sample = Sample { task, ..sample.clone() };
        let outcome = learner.as_learn_one().learn(sample.example());
        ensure!(outcome.margin.is_finite(), "margin {} of example {at}", outcome.margin);
        let tasks = learner.as_inspect().tasks();
        ensure!(tasks == met, "{tasks} tasks after meeting {met}");
    }
    for name in 0..met - known {
        // The names do not matter, the number of tasks does.
        let _ = tasks.meet(&format!("new-{name}"));
    }
    let mut restored = build(config, &tasks)?;
    restored.restore(&learner.to_bytes()).map_err(|error| error.to_string())?;
    ensure!(restored.to_bytes() == learner.to_bytes(), "saved and restored, the state differs");
    Ok(())
}

fn nothing_becomes_nan(config: &LearnerConfig) -> Result<(), String> {
    for scales in [[1e150, 1e150], [1e-150, 1e-150], [1e150, 1e-150]] {
        let mut samples = stream(config, 14, 300)?;
        for (at, sample) in samples.iter_mut().enumerate() {
            sample.values.iter_mut().for_each(|value| *value *= scales[at % 2]);
        }
        let mut learner = fresh(config)?;
        let outcomes = learn(&mut learner, &samples);
        let bad = outcomes.iter().find(|outcome| !outcome.margin.is_finite());
        ensure!(bad.is_none(), "values around {scales:?} give {bad:?}");
        ensure_sound(&learner, config, &samples)?;
    }
    Ok(())
}

fn memory_stays_within_cost(config: &LearnerConfig) -> Result<(), String> {
    // Learners that keep examples are slow by nature, and what they keep is counted.
    let count = if fresh(config)?.as_inspect().supports().is_some() { 1_000 } else { 20_000 };
    let (samples, tasks) = (stream(config, 15, count)?, task_names(config)?.len());
    let mut features: Vec<u32> = samples.iter().flat_map(|sample| sample.indices.clone()).collect();
    features.sort_unstable();
    features.dedup();
    let mut learner = fresh(config)?;
    learn(&mut learner, &samples);
    // The feature with the largest number costs no more than any other.
    let huge = Sample::new(TaskId(0), &[(BIAS_FEATURE, 1.0)], 1.0);
    learn(&mut learner, &[huge]);
    let held = learner.as_inspect().heap_bytes();
    // d K weights and K^2 relations, with room for tables that are half full.
    let mut allowed = 4096 + 64 * (features.len() + 1) * (tasks + 1) + 64 * tasks * tasks;
    // The examples kept, and the numbers about their pairs.
    let kept = learner.as_inspect().supports().map_or(0, |supports| supports.len());
    let longest = samples.iter().map(|sample| sample.indices.len()).max().unwrap_or(0);
    let pairs = config.numbers_for_pairs(kept);
    allowed += 2 * (kept * (128 + 16 * longest) + 8 * pairs) + config.remembered_bytes(tasks);
    ensure!(held <= allowed, "{held} bytes for {} features of {tasks} tasks", features.len());
    ensure!(held > 0, "{count} examples are held in no memory");
    Ok(())
}

fn permuted_tasks_permute_results(config: &LearnerConfig) -> Result<(), String> {
    let names = task_names(config)?;
    let (permuted, from) = shuffled_names(&names);
    let (here, there) = (named(&names)?, named(&permuted)?);
    let mut config_there = config.clone();
    if let Some(InteractionConfig::Matrix(matrix)) = config_there.interaction_mut()
        && let Some(rows) = &mut matrix.rows
    {
        let old = rows.clone();
        *rows = from.iter().map(|i| from.iter().map(|j| old[*i][*j]).collect()).collect();
    }
    let (mut left, mut right) = (build(config, &here)?, build(&config_there, &there)?);
    for sample in &stream(config, 16, 300)? {
        let name = here.name(sample.task);
        let task = there.find(name).ok_or("a name is lost")?;
        let moved = Sample { task, ..sample.clone() };
        let (one, two) =
            (left.as_learn_one().learn(sample.example()), right.as_learn_one().learn(moved.example()));
        let gap = (one.margin - two.margin).abs();
        ensure!(gap <= 1e-9 * (1.0 + one.margin.abs()), "task {name}: {one:?} against {two:?}");
        ensure!(one.updated == two.updated, "task {name}: {one:?} against {two:?}");
    }
    for i in 0..names.len() as u32 {
        for j in 0..names.len() as u32 {
            let relation = |learner: &Learner, i, j| learner.as_inspect().relation(TaskId(i), TaskId(j));
            let place = |at: u32| from.iter().position(|old| *old == at as usize).unwrap_or(0) as u32;
            let gap = relation(&left, i, j) - relation(&right, place(i), place(j));
            ensure!(gap.abs() <= 1e-9, "the relation of tasks {i} and {j} differs by {gap}");
        }
    }
    Ok(())
}
