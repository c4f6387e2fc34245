//! CS15, section 5: how long a fit takes, and what structure gains on SARCOS and 15-Scenes.

use std::num::NonZeroUsize;
use std::time::Instant;

use cognate::algorithms::ConvexConfig;
use cognate::fit::{Examples, FitOptions, Method as Solver, fit};
use cognate::stream::Memory;
use cognate::{Example, SparseView, TaskId, Tasks};
use rand::RngExt as _;
use rand::seq::SliceRandom;
use serde_json::json;

use crate::data::{SARCOS, SCENES15};
use crate::findings::{Cell, Figure, Table, Verdict};
use crate::fitting::{
    By, Line, Method, Search, Tuned, examples, generator, margin, methods, read, standardise, tuned,
};
use crate::parallel::Interrupted;
use crate::statistics::mean;
use crate::{Experiment, Findings, Lab};
use cognate_plot::lines::{LineChart, Series};
use cognate_plot::scale::Unit;

pub(super) static ALL: [Experiment; 3] = [
    Experiment {
        id: "cs15-figure1",
        place: "CS15 figure 1, seconds of a fit as features and tasks grow",
        claim: "With 100 tasks alternating minimisation takes almost the same time whatever the number of features; with 100 \
                features everything takes longer the more tasks there are.",
        deviates: "the papers' own programs for MTFL and MTCL are not available; alternating minimisation is compared \
                   with a proximal method of our own. Times are wall-clock times on this machine.",
        needs: &[],
        minutes: (0.5, 6.0),
        run: figure1,
    },
    Experiment {
        id: "cs15-table1",
        place: "CS15 table 1, normalised error of SARCOS torques",
        claim: "Learning the seven torques together lowers the error by 4 to 6 % with 50 examples per task, less with more.",
        deviates: "the test half of the data only (4,449 points): the points that no task has drawn are \
                   predicted, instead of 5,000.",
        needs: &[&SARCOS],
        minutes: (0.2, 1.0),
        run: table1,
    },
    Experiment {
        id: "cs15-table2",
        place: "CS15 table 2, accuracy on 15-Scenes",
        claim: "All structured methods beat single tasks, by up to one point.",
        deviates: "the same images with 119 features of our own instead of LLC codes, so accuracies are lower; all images \
                   that are not fitted are the test.",
        needs: &[&SCENES15],
        minutes: (1.0, 8.0),
        run: table2,
    },
];

/// The paper's nMSE and nI, at 50, 100, 150 and 200 examples per task.
const TABLE_1: [(&str, [(f64, f64); 4]); 4] = [
    ("STL", [(0.2436, 0.0), (0.1723, 0.0), (0.1483, 0.0), (0.1312, 0.0)]),
    ("MTFL", [(0.2333, 0.0416), (0.1658, 0.0379), (0.1428, 0.0281), (0.1311, 0.0003)]),
    ("MTRL", [(0.2314, 0.0404), (0.1653, 0.0401), (0.1421, 0.0288), (0.1303, 0.0071)]),
    ("OKL", [(0.2284, 0.0630), (0.1604, 0.0641), (0.1410, 0.0350), (0.1301, 0.0087)]),
];
const SIZES_1: [usize; 4] = [50, 100, 150, 200];

/// The paper's accuracies, at 50, 100 and 150 images per class.
const TABLE_2: [(&str, [f64; 3]); 4] = [
    ("STL", [72.23, 76.61, 79.23]),
    ("MTFL", [73.23, 77.24, 80.11]),
    ("MTRL", [73.13, 77.53, 80.21]),
    ("OKL", [72.25, 77.06, 80.03]),
];
const SIZES_2: [usize; 3] = [50, 100, 150];

/// A draw of the examples to fit, with this many of each task or class.
#[derive(Clone, Copy)]
struct Draw {
    number: u64,
    column: usize,
    size: usize,
}

/// All draws of all sizes, ordered by size.
fn draws(sizes: &[usize], each: u64) -> Vec<Draw> {
    let of_size = |(column, size): (usize, &usize)| {
        let size = *size;
        (0..each).map(move |number| Draw { number, column, size })
    };
    sizes.iter().enumerate().flat_map(of_size).collect()
}

fn search(by: By, draw: Draw, go_on: &(dyn Fn() -> bool + Sync)) -> Search<'_> {
    Search { lambdas: 11, by, seed: draw.number + 1, threads: NonZeroUsize::MIN, go_on }
}

/// The result of every method in a draw, and the lambda that was chosen.
type Drawn = Vec<(f64, f64)>;

/// nMSE of every method in one draw.
fn sarcos(lab: &Lab, draw: Draw) -> anyhow::Result<Drawn> {
    const TASKS: usize = 7;
    let mut lines = read(&lab.data.join(SARCOS.files[0]))?;
    let points = lines.len() / TASKS;
    let mut order: Vec<usize> = (0..points).collect();
    order.shuffle(&mut generator(draw.number + 1));
    // Every task draws examples of its own; the points that none has drawn are predicted.
    let line = |point: usize, task: usize| task * points + point;
    let train: Vec<(usize, usize, f64)> = (0..TASKS)
        .flat_map(|task| (0..draw.size).map(move |at| (task * draw.size + at, task)))
        .map(|(at, task)| (line(order[at], task), task, lines[line(order[at], task)].label))
        .collect();
    let test = &order[TASKS * draw.size..];
    standardise(&mut lines, &train.iter().map(|(at, ..)| *at).collect::<Vec<_>>());
    let train = examples(&lines, &train, TASKS)?;
    let go_on = || !lab.pool.asked();
    let mut errors = Vec::new();
    for method in methods(Vec::new()) {
        let Tuned { learner, config, .. } = tuned(&method, &train, &search(By::Error, draw, &go_on))?;
        let of_task = |task: usize| {
            let labels: Vec<f64> = test.iter().map(|point| lines[line(*point, task)].label).collect();
            let center = mean(&labels);
            let error: f64 = test
                .iter()
                .map(|point| &lines[line(*point, task)])
                .map(|line| (line.label - margin(&learner, line, task)).powi(2))
                .sum();
            error / labels.iter().map(|label| (label - center).powi(2)).sum::<f64>()
        };
        errors.push((mean(&(0..TASKS).map(of_task).collect::<Vec<_>>()), config.lambda));
    }
    if lab.pool.asked() { Err(Interrupted.into()) } else { Ok(errors) }
}

/// Results by method and size: `[method][size][draw]`.
fn by_method(draws: &[Draw], results: &[Drawn], methods: usize, sizes: usize) -> Vec<Vec<Vec<f64>>> {
    let mut found = vec![vec![Vec::new(); sizes]; methods];
    for (draw, results) in draws.iter().zip(results) {
        results.iter().enumerate().for_each(|(method, result)| found[method][draw.column].push(result.0));
    }
    found
}

/// The draws, and the range of lambdas that cross-validation chose, by method.
fn chosen(each: u64, results: &[Drawn]) -> String {
    let range = |(at, method): (usize, Method)| {
        let lambdas = results.iter().map(|drawn| drawn[at].1);
        let (low, high) = lambdas.fold((f64::MAX, 0.0_f64), |(low, high), l| (low.min(l), high.max(l)));
        format!("{} {low:.2e} to {high:.2e}", method.name)
    };
    let ranges: Vec<String> = methods(Vec::new()).into_iter().enumerate().map(range).collect();
    format!(
        "{each} draws of every size; lambda (and MTRL's ridge) by five folds, over all draws and sizes: {}.",
        ranges.join(", ")
    )
}

fn table1(lab: &Lab) -> anyhow::Result<Findings> {
    let each = lab.choose(2, 10);
    let draws = draws(&SIZES_1, each);
    let results = lab.pool.all("sarcos", &draws, |draw| sarcos(lab, *draw))?;
    let found = by_method(&draws, &results, TABLE_1.len(), SIZES_1.len());
    let gains = |method: usize, size: usize| -> Vec<f64> {
        let pairs = found[0][size].iter().zip(&found[method][size]);
        pairs.map(|(single, ours)| (single - ours) / (single * ours).sqrt()).collect()
    };
    let rows = TABLE_1.iter().enumerate().map(|(method, (name, paper))| {
        let cells = (0..SIZES_1.len()).flat_map(|size| {
            let error = Cell::of(&found[method][size], Some(paper[size].0), 4);
            [error, Cell::number(mean(&gains(method, size)), Some(paper[size].1), 4)]
        });
        ((*name).to_owned(), cells.collect())
    });
    let best: Vec<f64> = (0..SIZES_1.len())
        .map(|size| (1..4).map(|method| mean(&gains(method, size))).fold(f64::MIN, f64::max))
        .collect();
    let shown: Vec<String> =
        SIZES_1.iter().zip(&best).map(|(size, gain)| format!("{size}: {:.1} %", 100.0 * gain)).collect();
    Ok(Findings {
        tables: vec![Table {
            title: "nMSE of predicted torques, and improvement nI over single tasks".to_owned(),
            columns: SIZES_1.iter().flat_map(|size| [format!("{size} nMSE"), "nI".to_owned()]).collect(),
            rows: rows.collect(),
        }],
        verdicts: vec![Verdict::instead(
            "with 50 examples per task the best method gains 4 % or more",
            best[0] >= 0.04,
            format!("best nI at {}", shown.join(", ")),
            "with 50 examples per task the best method is no worse than single tasks",
            best[0] >= -0.005,
        )],
        notes: vec![chosen(each, &results)],
        ..Findings::default()
    })
}

/// Accuracy of every method in one draw.
fn scenes15(lab: &Lab, draw: Draw) -> anyhow::Result<Drawn> {
    const CLASSES: usize = 15;
    let mut lines = read(&lab.data.join(SCENES15.files[0]))?;
    let class = |line: &Line| (line.label as usize).clamp(1, CLASSES) - 1;
    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.shuffle(&mut generator(draw.number + 1));
    let mut counts = [0; CLASSES];
    let (mut train, mut test) = (Vec::new(), Vec::new());
    for at in order {
        let class = class(&lines[at]);
        counts[class] += 1;
        if counts[class] <= draw.size { train.push(at) } else { test.push(at) }
    }
    standardise(&mut lines, &train);
    let against_all = |at: &usize| {
        let (at, own) = (*at, class(&lines[*at]));
        (0..CLASSES).map(move |task| (at, task, if task == own { 1.0 } else { -1.0 }))
    };
    let train = examples(&lines, &train.iter().flat_map(against_all).collect::<Vec<_>>(), CLASSES)?;
    let go_on = || !lab.pool.asked();
    let mut accuracies = Vec::new();
    for method in methods(Vec::new()) {
        let Tuned { learner, config, .. } = tuned(&method, &train, &search(By::Explained, draw, &go_on))?;
        let mut hits = [(0.0, 0.0); CLASSES];
        for at in &test {
            let margins: Vec<f64> = (0..CLASSES).map(|task| margin(&learner, &lines[*at], task)).collect();
            let best = (0..CLASSES).max_by(|a, b| margins[*a].total_cmp(&margins[*b])).unwrap_or(0);
            let own = &mut hits[class(&lines[*at])];
            *own = (own.0 + f64::from(u8::from(best == class(&lines[*at]))), own.1 + 1.0);
        }
        accuracies.push((100.0 * mean(&hits.map(|(hits, all)| hits / all)), config.lambda));
    }
    if lab.pool.asked() { Err(Interrupted.into()) } else { Ok(accuracies) }
}

fn table2(lab: &Lab) -> anyhow::Result<Findings> {
    let each = lab.choose(1, 20);
    let sizes: &[usize] = lab.choose(&SIZES_2[..1], &SIZES_2);
    let draws = draws(sizes, each);
    let results = lab.pool.all("scenes15", &draws, |draw| scenes15(lab, *draw))?;
    let found = by_method(&draws, &results, TABLE_2.len(), sizes.len());
    let rows = TABLE_2.iter().enumerate().map(|(method, (name, paper))| {
        let cells = (0..sizes.len()).map(|size| Cell::of(&found[method][size], Some(paper[size]), 2));
        ((*name).to_owned(), cells.collect())
    });
    let gains: Vec<f64> = (1..4)
        .flat_map(|method| (0..sizes.len()).map(move |size| (method, size)))
        .map(|(method, size)| mean(&found[method][size]) - mean(&found[0][size]))
        .collect();
    let (least, most) =
        gains.iter().fold((f64::MAX, f64::MIN), |(low, high), gain| (low.min(*gain), high.max(*gain)));
    Ok(Findings {
        tables: vec![Table {
            title: "Mean accuracy of the classes in %, by images fitted per class".to_owned(),
            columns: sizes.iter().map(ToString::to_string).collect(),
            rows: rows.collect(),
        }],
        verdicts: vec![Verdict::instead(
            "every structured method beats single tasks",
            least > 0.0,
            format!("by {least:+.2} to {most:+.2} points"),
            "no structured method is worse than single tasks by more than a point and a half",
            least > -1.5,
        )],
        notes: vec![chosen(each, &results)],
        ..Findings::default()
    })
}

/// Points per task, noise: section 5.1.
const POINTS: usize = 30;
const NOISE: f64 = 0.1;
/// How close to the optimum a fit must come, as a share of it.
const CLOSE: f64 = 1e-4;

/// A nearly normal draw, by the central limit theorem: close enough for inputs.
fn normal(rng: &mut impl rand::Rng) -> f64 {
    (0..12).map(|_| rng.random_range(-0.5..0.5)).sum()
}

/// Tasks with inputs of their own, and linear labels.
fn made_up(tasks: usize, features: usize, seed: u64) -> anyhow::Result<Examples> {
    let mut rng = generator(seed);
    let weights: Vec<f64> = (0..tasks * features).map(|_| normal(&mut rng)).collect();
    let mut memory = Memory::new();
    let indices: Vec<u32> = (0..features as u32).collect();
    for task in 0..tasks {
        for _ in 0..POINTS {
            let x: Vec<f64> = (0..features).map(|_| normal(&mut rng)).collect();
            let own = &weights[task * features..(task + 1) * features];
            let label = x.iter().zip(own).map(|(x, w)| x * w).sum::<f64>() + NOISE * normal(&mut rng);
            let features = SparseView::try_new(&indices, &x)?;
            memory.push(&task.to_string(), Example::new(TaskId(0), features, label));
        }
    }
    Ok(Examples::read(&mut memory, &Tasks::open())?)
}

fn figure1(lab: &Lab) -> anyhow::Result<Findings> {
    let sizes: &[usize] = lab.choose(&[10, 25, 50], &[5, 25, 50, 75, 100, 125, 150]);
    let repetitions: u64 = lab.choose(1, 3);
    let feature_learning = json!({ "schatten": { "p": 1 } });
    let clusters = json!({ "cluster": { "clusters": 5, "mean": 1.0, "between": 1.0, "within": 10.0 } });
    let ways = [
        ("MTFL, alternating", &feature_learning, Some(Solver::Alternating)),
        ("MTFL, proximal", &feature_learning, Some(Solver::Proximal)),
        ("MTCL, alternating", &clusters, Some(Solver::Alternating)),
    ];
    let mut findings = Findings::default();
    let mut growth = Vec::new();
    // Seconds at the largest size, in the order of `ways`, by features first.
    let mut slowest = Vec::new();
    for (file, what, x_title, by_features) in [
        ("features", "100 tasks, by features", "features", true),
        ("tasks", "100 features, by tasks", "tasks", false),
    ] {
        let mut rows = Vec::new();
        let mut series = Vec::new();
        for (name, penalty, method) in &ways {
            let config: ConvexConfig = serde_json::from_value(json!({
                "penalty": penalty, "lambda": 25.0, "intercept": false, "tolerance": CLOSE, "max-iterations": 400,
            }))?;
            let options = FitOptions { method: *method, ..FitOptions::default() };
            // One after the other: jobs side by side would disturb each other's times.
            let mut times = Vec::new();
            for size in sizes {
                let (tasks, features) = if by_features { (100, *size) } else { (*size, 100) };
                let mut of_size = Vec::new();
                for seed in 1..=repetitions {
                    let examples = made_up(tasks, features, seed)?;
                    let start = Instant::now();
                    fit(&config, &examples, &options)?;
                    of_size.push(start.elapsed().as_secs_f64());
                    if lab.pool.asked() {
                        return Err(Interrupted.into());
                    }
                }
                times.push(of_size);
            }
            let means: Vec<f64> = times.iter().map(|times| mean(times)).collect();
            let last = means[means.len() - 1];
            growth.push((by_features, *name, last / means[0]));
            slowest.push(last);
            rows.push(((*name).to_owned(), times.iter().map(|times| Cell::of(times, None, 3)).collect()));
            let points = sizes.iter().zip(&means).map(|(size, seconds)| (*size as f64, *seconds)).collect();
            series.push(Series { name: (*name).to_owned(), points });
        }
        findings.tables.push(Table {
            title: format!("Seconds to {CLOSE:e} of the optimum: {what}"),
            columns: sizes.iter().map(ToString::to_string).collect(),
            rows,
        });
        findings.figures.push(Figure {
            name: file.to_owned(),
            chart: LineChart {
                title: format!("Seconds of a fit: {what}"),
                x_title: x_title.to_owned(),
                y_title: "seconds".to_owned(),
                y_unit: Unit::Plain,
                series,
                ..LineChart::default()
            },
        });
    }
    let times = |by_features: bool| {
        let of = growth.iter().filter(move |(by, ..)| *by == by_features);
        of.map(|(_, name, times)| format!("{name} {times:.1} times")).collect::<Vec<_>>().join(", ")
    };
    let (first, last) = (sizes[0], sizes[sizes.len() - 1]);
    let square = (last as f64 / first as f64).powi(2);
    findings.verdicts = vec![
        Verdict::instead(
            "with 100 tasks alternating minimisation takes almost the same time whatever the number of features",
            growth.iter().all(|(by, name, times)| !by || !name.ends_with("alternating") || *times < 2.0),
            format!("{last} features against {first}: {}", times(true)),
            "MTCL grows less than the square of the number of features; for MTFL alternating minimisation loses to proximal \
             steps at the largest sizes",
            growth[2].2 < square && slowest[1] < slowest[0] && slowest[4] < slowest[3],
        ),
        Verdict::claim(
            "with 100 features everything takes longer the more tasks there are",
            growth.iter().all(|(by, _, times)| *by || *times > 1.0),
            format!("{last} tasks against {first}: {}", times(false)),
        ),
    ];
    Ok(findings)
}
