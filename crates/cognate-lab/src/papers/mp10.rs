//! MP10, section 7: tasks from almost unrelated (D1) to equal (D8), and the spam of 15 users.

use cognate::Example;
use cognate::run::Serve;
use cognate::stream::Memory;
use rand::RngExt as _;
use rand::seq::SliceRandom;
use serde_json::json;

use crate::data::{self, RCV1, SPAM_B};
use crate::findings::{Cell, Figure, Table, Verdict};
use crate::runs::{Passed, Way, pass};
use crate::statistics::mean;
use crate::{Experiment, Findings, Lab};
use cognate_plot::lines::{LineChart, Series};
use cognate_plot::scale::Unit;

const SMALLER: &str = "6,903 multitask examples instead of 40,000, so a subsequence is a quarter of the pass, not 10,000; \
                       not in order of date; the paper's lists of categories are not published.";

pub(super) static ALL: [Experiment; 5] = [
    Experiment {
        id: "mp10-table1",
        place: "MP10 table 1, errors of independent Perceptrons (b = 0) on D1 to D8",
        claim: "Errors fall along the stream, rise from D1 to D3 and fall again to D8; an adversary who picks the task at \
                least doubles them.",
        deviates: SMALLER,
        needs: &[&RCV1],
        minutes: (0.1, 0.1),
        run: table1,
    },
    Experiment {
        id: "mp10-figure5",
        place: "MP10 figure 5, what sharing by b = 1, 4, 8, 16 gains over b = 0",
        claim: "The closer the tasks, the more is gained, and the larger b the steeper; b = 1 loses on D1 only.",
        deviates: SMALLER,
        needs: &[&RCV1],
        minutes: (0.2, 0.5),
        run: figure5,
    },
    Experiment {
        id: "mp10-table2",
        place: "MP10 table 2, errors of the matrix Perceptron with p = 1 on D1 to D8",
        claim: "Errors fall along the stream, rise from D1 to D3 and fall again to D8.",
        deviates: SMALLER,
        needs: &[&RCV1],
        minutes: (0.1, 0.1),
        run: table2,
    },
    Experiment {
        id: "mp10-figure6",
        place: "MP10 figure 6, what p = 2 to 5 gains over p = 1",
        claim: "The closer the tasks, the more is gained; even on D1 p > 1 is no worse than the baseline.",
        deviates: SMALLER,
        needs: &[&RCV1],
        minutes: (0.3, 0.3),
        run: figure6,
    },
    Experiment {
        id: "mp10-table3",
        place: "MP10 table 3, the matrix Perceptron on the spam of 15 users",
        claim: "Every p > 1 beats p = 1 in training and test error, the best by a quarter of its test error.",
        deviates: "unit rows: the paper does not say how mails are scaled, and its errors lie between those of unit rows and \
                   of raw counts.",
        needs: &[&SPAM_B],
        minutes: (0.5, 10.0),
        run: table3,
    },
];

/// The rows of table 1, with tasks chosen at random, then by an adversary; and those of table 2.
const TABLE_1: [[[f64; 8]; 4]; 2] = [
    [
        [0.159, 0.198, 0.215, 0.212, 0.208, 0.203, 0.195, 0.175],
        [0.116, 0.158, 0.167, 0.170, 0.167, 0.164, 0.152, 0.134],
        [0.104, 0.141, 0.158, 0.155, 0.150, 0.147, 0.138, 0.122],
        [0.085, 0.118, 0.125, 0.125, 0.119, 0.113, 0.105, 0.091],
    ],
    [
        [0.395, 0.482, 0.508, 0.499, 0.489, 0.492, 0.461, 0.410],
        [0.297, 0.394, 0.428, 0.427, 0.410, 0.394, 0.371, 0.322],
        [0.274, 0.374, 0.399, 0.389, 0.375, 0.368, 0.332, 0.291],
        [0.231, 0.323, 0.339, 0.337, 0.323, 0.315, 0.287, 0.249],
    ],
];
const TABLE_2: [[f64; 8]; 4] = [
    [0.154, 0.198, 0.207, 0.206, 0.202, 0.196, 0.185, 0.166],
    [0.104, 0.141, 0.159, 0.157, 0.152, 0.149, 0.135, 0.120],
    [0.095, 0.126, 0.139, 0.138, 0.131, 0.127, 0.115, 0.099],
    [0.085, 0.125, 0.132, 0.135, 0.132, 0.124, 0.117, 0.101],
];

/// Training and test error of p = 1 to 5 in table 3.
const TABLE_3: [(f64, f64); 5] = [(19.0, 13.4), (16.7, 10.9), (16.4, 10.6), (16.6, 9.7), (17.1, 10.2)];

const QUARTERS: [&str; 4] = ["first quarter", "second quarter", "third quarter", "last quarter"];

/// Who chooses the task of a round.
#[derive(Clone, Copy, PartialEq)]
enum Choice {
    /// A random draw with this seed.
    Random(u64),
    /// The task with the smallest margin.
    Adversarial,
}

impl Choice {
    fn all(lab: &Lab) -> [Vec<Self>; 2] {
        [(1..=lab.choose(1, 3)).map(Self::Random).collect(), vec![Self::Adversarial]]
    }
}

/// A pass over one of the four documents of every multitask example.
fn one_of_four(lab: &Lab, set: &Memory, b: f64, choice: Choice) -> anyhow::Result<Passed> {
    let way = Way::coupled(b);
    match choice {
        Choice::Adversarial => pass(lab, &Way { serve: Serve::Hardest, ..way }, set.clone()),
        Choice::Random(seed) => {
            let mut rng = cognate::internal::generator(seed, 0);
            let mut stream = Memory::new();
            let mut served = 0;
            for (at, (task, example)) in set.examples().enumerate() {
                if at % 4 == 0 {
                    served = rng.random_range(0..4);
                }
                if at % 4 == served {
                    stream.push(task, example);
                }
            }
            pass(lab, &way, stream)
        }
    }
}

/// Error of every quarter, b and set, for both choices of the task: `[choice][b][set][quarter]`.
fn by_strength(lab: &Lab, strengths: &[f64]) -> anyhow::Result<Vec<Vec<Vec<Vec<f64>>>>> {
    let sets = data::rcv1(lab)?;
    let choices = Choice::all(lab);
    let mut jobs = Vec::new();
    for choice in &choices {
        for b in strengths {
            for set in &sets {
                jobs.extend(choice.iter().map(|choice| (set, *b, *choice)));
            }
        }
    }
    let quarters =
        lab.pool.all("rcv1", &jobs, |(set, b, choice)| Ok(one_of_four(lab, set, *b, *choice)?.parts(4)))?;
    let mut quarters = quarters.into_iter();
    let mut averaged = |runs: usize| -> Vec<f64> {
        let runs: Vec<Vec<f64>> = quarters.by_ref().take(runs).collect();
        (0..4).map(|at| mean(&runs.iter().map(|run| run[at]).collect::<Vec<_>>())).collect()
    };
    Ok(choices
        .iter()
        .map(|choice| {
            let of_b = |_: &f64| sets.iter().map(|_| averaged(choice.len())).collect();
            strengths.iter().map(of_b).collect()
        })
        .collect())
}

fn set_names() -> Vec<String> {
    (1..=8).map(|set| format!("D{set}")).collect()
}

/// One row per quarter, one column per set.
fn quarters_table(title: String, errors: &[Vec<f64>], paper: &[[f64; 8]; 4]) -> Table {
    let row = |quarter: usize| {
        let cell = |set: usize| Cell::number(errors[set][quarter], Some(paper[quarter][set]), 3);
        (QUARTERS[quarter].to_owned(), (0..8).map(cell).collect())
    };
    Table { title, columns: set_names(), rows: (0..4).map(row).collect() }
}

fn whole(quarters: &[f64]) -> f64 {
    mean(quarters)
}

/// The verdicts that tables 1 and 2 have in common.
fn shape(errors: &[Vec<f64>], what: &str) -> Vec<Verdict> {
    let falls = errors.iter().all(|quarters| quarters[3] < quarters[0]);
    let (first, third, last) = (whole(&errors[0]), whole(&errors[2]), whole(&errors[7]));
    let halves: Vec<String> =
        errors.iter().map(|quarters| format!("{:.3} to {:.3}", quarters[0], quarters[3])).collect();
    vec![
        Verdict::claim(&format!("{what}: errors fall along the stream"), falls, halves.join(", ")),
        Verdict::claim(
            &format!("{what}: D3 is harder than D1 and D8"),
            third > first && third > last,
            format!("whole pass: D1 {first:.3}, D3 {third:.3}, D8 {last:.3}"),
        ),
    ]
}

fn table1(lab: &Lab) -> anyhow::Result<Findings> {
    let errors = by_strength(lab, &[0.0])?;
    let (random, adversarial) = (&errors[0][0], &errors[1][0]);
    let mut verdicts = shape(random, "random tasks");
    verdicts.extend(shape(adversarial, "adversarial tasks"));
    let ratios: Vec<f64> = random.iter().zip(adversarial).map(|(r, a)| whole(a) / whole(r)).collect();
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    verdicts.push(Verdict::claim(
        "an adversary at least doubles the errors",
        least >= 2.0,
        format!("by {least:.2} times at least"),
    ));
    Ok(Findings {
        tables: vec![
            quarters_table("Tasks chosen at random".to_owned(), random, &TABLE_1[0]),
            quarters_table("Tasks chosen by an adversary".to_owned(), adversarial, &TABLE_1[1]),
        ],
        verdicts,
        ..Findings::default()
    })
}

/// Differences from the first, as a table of whole passes and one picture per quarter.
fn differences(
    findings: &mut Findings,
    what: &str,
    file: &str,
    names: &[String],
    errors: &[Vec<Vec<f64>>],
) -> Vec<Vec<f64>> {
    let base = &errors[0];
    let whole_pass: Vec<Vec<f64>> = errors[1..]
        .iter()
        .map(|of| of.iter().zip(base).map(|(ours, base)| whole(ours) - whole(base)).collect())
        .collect();
    findings.tables.push(Table {
        title: format!("{what}: error beyond the baseline, whole pass"),
        columns: set_names(),
        rows: names
            .iter()
            .zip(&whole_pass)
            .map(|(name, row)| (name.clone(), row.iter().map(|gap| Cell::number(*gap, None, 4)).collect()))
            .collect(),
    });
    for (quarter, title) in QUARTERS.iter().enumerate() {
        let points = |of: &Vec<Vec<f64>>| {
            (0..8).map(|set| ((set + 1) as f64, of[set][quarter] - base[set][quarter])).collect()
        };
        let series = names
            .iter()
            .zip(&errors[1..])
            .map(|(name, of)| Series { name: name.clone(), points: points(of) });
        findings.figures.push(Figure {
            name: format!("{file}{}", quarter + 1),
            chart: LineChart {
                title: format!("{what}: error beyond the baseline, {title}"),
                x_title: "data set, D1 (unrelated) to D8 (equal tasks)".to_owned(),
                y_title: "points beyond the baseline".to_owned(),
                y_unit: Unit::Percent,
                series: series.collect(),
                ..LineChart::default()
            },
        });
    }
    whole_pass
}

/// The verdict on whether all gain more on D8 than on D1.
fn closer_gains(what: &str, gaps: &[Vec<f64>]) -> Verdict {
    let shown: Vec<String> = gaps.iter().map(|row| format!("{:+.3} to {:+.3}", row[0], row[7])).collect();
    Verdict::claim(
        &format!("{what}: everyone gains from D1 to D8, and beats the baseline there"),
        gaps.iter().all(|row| row[7] < row[0] && row[7] < 0.0),
        format!("D1 to D8: {}", shown.join(", ")),
    )
}

fn figure5(lab: &Lab) -> anyhow::Result<Findings> {
    let strengths = [0.0, 1.0, 4.0, 8.0, 16.0];
    let names: Vec<String> = strengths[1..].iter().map(|b| format!("b = {b}")).collect();
    let errors = by_strength(lab, &strengths)?;
    let mut findings = Findings::default();
    for (what, file, errors) in [
        ("tasks chosen at random", "random-", &errors[0]),
        ("tasks chosen by an adversary", "adversarial-", &errors[1]),
    ] {
        let gaps = differences(&mut findings, what, file, &names, errors);
        findings.verdicts.push(closer_gains(what, &gaps));
        let steepness: Vec<f64> = gaps.iter().map(|row| row[0] - row[7]).collect();
        findings.verdicts.push(Verdict::claim(
            &format!("{what}: the larger b, the steeper"),
            steepness.windows(2).all(|pair| pair[0] < pair[1]),
            format!(
                "D1 less D8: {}",
                steepness.iter().map(|s| format!("{s:.3}")).collect::<Vec<_>>().join(", ")
            ),
        ));
        let worse: Vec<String> =
            gaps[0].iter().zip(set_names()).filter(|(gap, _)| **gap >= 0.0).map(|(_, name)| name).collect();
        findings.verdicts.push(Verdict::instead(
            &format!("{what}: b = 1 loses on D1 only"),
            worse == ["D1"],
            format!("it loses on {}", if worse.is_empty() { "none".to_owned() } else { worse.join(", ") }),
            "b = 1 loses by less than a point anywhere, and wins from D4 on",
            gaps[0].iter().all(|gap| *gap < 0.01) && gaps[0][3..].iter().all(|gap| *gap < 0.0),
        ));
    }
    Ok(findings)
}

/// Error of every quarter for p = 1 to `most`: `[p][set][quarter]`.
fn by_norm(lab: &Lab, most: u32) -> anyhow::Result<Vec<Vec<Vec<f64>>>> {
    let sets = data::rcv1(lab)?;
    let jobs: Vec<(u32, &Memory)> = (1..=most).flat_map(|p| sets.iter().map(move |set| (p, set))).collect();
    let quarters =
        lab.pool.all("rcv1", &jobs, |(p, set)| Ok(pass(lab, &matrix(*p), (*set).clone())?.parts(4)))?;
    Ok(quarters.chunks(sets.len()).map(<[Vec<f64>]>::to_vec).collect())
}

/// The matrix Perceptron on rounds of all tasks.
fn matrix(p: u32) -> Way {
    Way { simultaneous: true, ..Way::new(json!({ "schatten-perceptron": { "p": p } })) }
}

fn table2(lab: &Lab) -> anyhow::Result<Findings> {
    let errors = by_norm(lab, 1)?;
    Ok(Findings {
        tables: vec![quarters_table("All four tasks in a round, p = 1".to_owned(), &errors[0], &TABLE_2)],
        verdicts: shape(&errors[0], "p = 1"),
        ..Findings::default()
    })
}

fn figure6(lab: &Lab) -> anyhow::Result<Findings> {
    let errors = by_norm(lab, 5)?;
    let names: Vec<String> = (2..=5).map(|p| format!("p = {p}")).collect();
    let mut findings = Findings::default();
    let gaps = differences(&mut findings, "all tasks in a round", "p-", &names, &errors);
    findings.verdicts.push(closer_gains("all tasks in a round", &gaps));
    let on_first: Vec<String> = gaps.iter().map(|row| format!("{:+.4}", row[0])).collect();
    findings.verdicts.push(Verdict::instead(
        "on D1 p > 1 is no worse than the baseline",
        gaps.iter().all(|row| row[0] <= 0.0),
        format!("D1, p = 2 to 5: {}", on_first.join(", ")),
        "on D1 p = 2 is within a point of the baseline",
        gaps[0][0] < 0.01,
    ));
    Ok(findings)
}

/// Training and test error of one shuffle, with every fold left out once. Folds and rounds take equally many mails of
/// every user.
fn cross_validated(lab: &Lab, stream: &Memory, p: u32, seed: u64) -> anyhow::Result<(f64, f64)> {
    let mut rng = cognate::internal::generator(seed, 0);
    let users = data::task_names(stream);
    let mails: Vec<Vec<Example<'_>>> = users
        .iter()
        .map(|user| {
            let mut mails: Vec<Example<'_>> =
                stream.examples().filter(|(task, _)| task == user).map(|(_, mail)| mail).collect();
            mails.shuffle(&mut rng);
            mails
        })
        .collect();
    let each = mails.iter().map(Vec::len).min().unwrap_or(0);
    let (mut train_errors, mut test_errors) = (Vec::new(), Vec::new());
    for fold in 0..10 {
        let (mut train, mut test) = (Memory::new(), Memory::new());
        for at in 0..each {
            let side = if at % 10 == fold { &mut test } else { &mut train };
            users.iter().zip(&mails).for_each(|(user, mails)| side.push(user, mails[at]));
        }
        let passed = pass(lab, &matrix(p), train)?;
        train_errors.push(100.0 * passed.error());
        test_errors.push(100.0 * passed.test_error(&test));
    }
    Ok((mean(&train_errors), mean(&test_errors)))
}

fn table3(lab: &Lab) -> anyhow::Result<Findings> {
    let stream = data::unit_rows(lab, SPAM_B.files[0])?;
    let shuffles: u64 = lab.choose(2, 40);
    let jobs: Vec<(u32, u64)> = (1..=5).flat_map(|p| (1..=shuffles).map(move |seed| (p, seed))).collect();
    let errors = lab.pool.all("spam_b", &jobs, |(p, seed)| cross_validated(lab, &stream, *p, *seed))?;
    let by_p: Vec<(Vec<f64>, Vec<f64>)> =
        errors.chunks(shuffles as usize).map(|runs| runs.iter().copied().unzip()).collect();
    let rows = by_p.iter().zip(TABLE_3).enumerate().map(|(at, ((train, test), paper))| {
        let cells = vec![Cell::of(train, Some(paper.0), 1), Cell::of(test, Some(paper.1), 1)];
        (format!("p = {}", at + 1), cells)
    });
    let tests: Vec<f64> = by_p.iter().map(|(_, test)| mean(test)).collect();
    let trains: Vec<f64> = by_p.iter().map(|(train, _)| mean(train)).collect();
    let gain = 1.0 - tests[1..].iter().copied().fold(f64::INFINITY, f64::min) / tests[0];
    let shown = |errors: &[f64]| errors.iter().map(|e| format!("{e:.1}")).collect::<Vec<_>>().join(", ");
    Ok(Findings {
        tables: vec![Table {
            title: "Errors in %, one pass, ten folds".to_owned(),
            columns: vec!["training".to_owned(), "test".to_owned()],
            rows: rows.collect(),
        }],
        verdicts: vec![
            Verdict::claim(
                "every p > 1 beats p = 1 in training error",
                trains[1..].iter().all(|error| *error < trains[0]),
                shown(&trains),
            ),
            Verdict::claim(
                "every p > 1 beats p = 1 in test error",
                tests[1..].iter().all(|error| *error < tests[0]),
                shown(&tests),
            ),
            Verdict::instead(
                "the best p saves a quarter of the test error",
                gain >= 0.25,
                format!("{:.0} %", 100.0 * gain),
                "it saves a tenth",
                gain >= 0.1,
            ),
        ],
        notes: vec![format!("{shuffles} shuffles of ten folds; the deviation is that over shuffles.")],
        ..Findings::default()
    })
}
