//! MB12, section 5: many tasks with a fixed number of kept examples.

use cognate::stream::Memory;
use serde_json::{Value, json};

use crate::data::{self, DataSet, SCHOOL, SENTIMENT, SPAM_A};
use crate::findings::{Cell, Table};
use crate::runs::{Passed, Way, pass, shuffled};
use crate::statistics::{Gap, mean};
use crate::{Claim, Experiment, Findings, Lab};

pub(super) static ALL: [Experiment; 1] = [Experiment {
    id: "mb12-table1",
    place: "MB12 table 1, F-measure with 25, 10 and 5 % of the examples that independent Perceptrons keep",
    claim: "The complete graph (C) beats the disconnected one (D) everywhere, by the more the smaller the budget; projecting \
            beats dropping; projecting for all tasks at once (MTBPRJ-2) is best; with C and 25 % the budget costs nothing.",
    deviates: "the paper names neither degree nor width of its kernels nor the scaling of rows: ours are unit rows and, \
               of the degrees 2, 3 and 4, those that come nearest to the table; no other width was tried.",
    explains: "the paper's own table has the gap between C and D grow on spam_a and, for three learners of four, on school, \
               but shrink on sentiment, and all learners match the baseline on school only; ours are the same, and for MTRBP \
               on spam_a the gap lies within the deviation of three shuffles. On school our MTBPRJ is as good as our MTBPRJ-2 when the graph is complete. `cognate lab run \
               mb12-table1` shows both.",
    needs: &[&SPAM_A, &SCHOOL, &SENTIMENT],
    minutes: (2.0, 30.0),
    run: table1,
}];

const LEARNERS: [(&str, &str); 4] = [
    ("MTRBP", "budget-random"),
    ("MTFORG", "budget-forgetron"),
    ("MTBPRJ", "budget-projectron"),
    ("MTBPRJ-2", "budget-shared-projectron"),
];
const SHARES: [f64; 3] = [0.25, 0.10, 0.05];
const GRAPHS: [&str; 2] = ["complete", "disconnected"];

/// Points of F by which a cell may be below the paper's, and below the baseline to match it: in print 91.6 matches 92.0.
const BELOW: f64 = 2.5;
const MATCHED: f64 = 0.5;

/// The learner that projects for all tasks at once, a row of `LEARNERS`.
const SHARED: usize = 3;

/// A set: its kernel, F of independent Perceptrons in the paper, and the paper's cells, one row per learner, ordered by
/// share and graph.
struct Set {
    data: &'static DataSet,
    kernel: &'static str,
    baseline: f64,
    cells: [[f64; 6]; 4],
}

const SETS: [Set; 3] = [
    Set {
        data: &SPAM_A,
        kernel: r#"{"polynomial": {"degree": 3, "gamma": 1, "coef0": 1, "normalize": true}}"#,
        baseline: 92.0,
        cells: [
            [84.8, 81.4, 78.0, 73.1, 72.8, 66.7],
            [85.1, 81.7, 77.9, 73.0, 72.3, 66.7],
            [91.6, 89.4, 87.8, 84.0, 83.4, 76.0],
            [91.6, 90.3, 89.3, 87.3, 85.4, 82.3],
        ],
    },
    Set {
        data: &SCHOOL,
        kernel: r#"{"gaussian": {"gamma": 1}}"#,
        baseline: 39.1,
        cells: [
            [40.4, 35.0, 38.6, 30.9, 37.3, 26.0],
            [39.7, 35.1, 38.0, 31.5, 36.9, 25.9],
            [40.6, 37.4, 40.2, 32.6, 39.4, 23.8],
            [41.2, 39.1, 40.9, 39.0, 39.6, 37.9],
        ],
    },
    Set {
        data: &SENTIMENT,
        kernel: r#"{"polynomial": {"degree": 4, "gamma": 1, "coef0": 1, "normalize": true}}"#,
        baseline: 71.5,
        cells: [
            [66.8, 63.3, 62.0, 58.3, 59.4, 56.1],
            [66.7, 63.4, 62.3, 58.8, 58.8, 56.5],
            [71.4, 67.7, 66.6, 63.6, 64.0, 60.6],
            [71.7, 68.5, 67.9, 64.9, 64.5, 61.7],
        ],
    },
];

/// F in %, where a margin of 0 is wrong for either label, as in the paper's algorithms.
fn f_measure(passed: &Passed) -> f64 {
    let total = passed.total();
    let hits = passed.hits as f64;
    100.0 * 2.0 * hits / (2.0 * hits + total.mistakes as f64).max(1.0)
}

/// Means of a set: the baseline's runs, the examples it keeps, and the cells' runs `[share and graph][learner]`.
struct Measured {
    baseline: Vec<f64>,
    kept: f64,
    cells: Vec<Vec<Vec<f64>>>,
}

fn measure(lab: &Lab, set: &Set, seeds: u64) -> anyhow::Result<Measured> {
    let stream = data::unit_rows(lab, set.data.files[0])?;
    let kernel: Value = serde_json::from_str(set.kernel)?;
    let streams: Vec<Memory> = (1..=seeds).map(|seed| shuffled(&stream, seed)).collect();
    let independent =
        Way::new(json!({ "kernel-perceptron": { "interaction": "independent", "kernel": kernel } }));
    let baseline = lab.pool.all(set.data.name, &streams, |stream| {
        let passed = pass(lab, &independent, stream.clone())?;
        Ok((f_measure(&passed), passed.total().mistakes as f64))
    })?;
    let names = data::task_names(&stream);
    let mut jobs = Vec::new();
    for share in SHARES {
        for graph in GRAPHS {
            for (_, id) in LEARNERS {
                for (stream, (_, kept)) in streams.iter().zip(&baseline) {
                    let budget = ((share * kept).round() as u64).max(1);
                    jobs.push((
                        json!({ id: { "graph": graph, "kernel": kernel, "budget": budget } }),
                        stream,
                    ));
                }
            }
        }
    }
    let results = lab.pool.all(set.data.name, &jobs, |(learner, stream)| {
        let way = Way { tasks: Some(names.clone()), ..Way::new(learner.clone()) };
        Ok(f_measure(&pass(lab, &way, (*stream).clone())?))
    })?;
    let runs: Vec<Vec<f64>> = results.chunks(seeds as usize).map(<[f64]>::to_vec).collect();
    Ok(Measured {
        kept: mean(&baseline.iter().map(|(_, kept)| *kept).collect::<Vec<_>>()),
        baseline: baseline.into_iter().map(|(f, _)| f).collect(),
        cells: runs.chunks(LEARNERS.len()).map(<[Vec<f64>]>::to_vec).collect(),
    })
}

fn table1(lab: &Lab) -> anyhow::Result<Findings> {
    // Quick runs leave out sentiment, which takes longest.
    let sets: &[Set] = lab.choose(&SETS[..2], &SETS);
    let seeds = lab.choose(1, 3);
    let mut findings = Findings::default();
    let mut claims = claims();
    for set in sets {
        let measured = measure(lab, set, seeds)?;
        let columns = SHARES.iter().flat_map(|share| GRAPHS.map(|graph| column(*share, graph)));
        let mut rows = vec![(
            "independent, no budget".to_owned(),
            vec![Cell::of(&measured.baseline, Some(set.baseline), 1)],
        )];
        rows.extend(LEARNERS.iter().enumerate().map(|(row, (name, _))| {
            let cell =
                |column: usize| Cell::of(&measured.cells[column][row], Some(set.cells[row][column]), 1);
            ((*name).to_owned(), (0..6).map(cell).collect())
        }));
        findings.tables.push(Table {
            title: format!(
                "{}: F in %, kernel {}, {:.0} examples kept by independent Perceptrons",
                set.data.name, set.kernel, measured.kept
            ),
            columns: columns.collect(),
            rows,
        });
        claims = claims.into_iter().zip(tests(set, &measured)).map(|(claim, test)| test.of(claim)).collect();
    }
    findings.claims = claims;
    findings.notes.push(format!("{seeds} shuffles; eta = 0.01 as in the paper."));
    Ok(findings)
}

fn column(share: f64, graph: &str) -> String {
    format!("{} {:.0} %", if graph == "complete" { "C" } else { "D" }, 100.0 * share)
}

/// What the paper says, to be tested on every set.
fn claims() -> Vec<Claim> {
    let texts = [
        "the complete graph (C) is better than the disconnected one (D), whatever learner and budget",
        "the difference between C and D grows as the budget shrinks",
        "projecting (MTBPRJ) is better than dropping",
        "MTBPRJ-2 is the best, whatever graph and budget",
        "with C and 25 % MTBPRJ-2 matches independent Perceptrons without a budget",
        "with C all four learners match them at 25 %, and MTBPRJ and MTBPRJ-2 at 5 % (the paper's words; by its table, on school)",
        "the table: F of all learners, graphs and budgets",
    ];
    texts.into_iter().map(Claim::new).collect()
}

/// A test of a claim on one set.
struct Test {
    condition: String,
    holds: bool,
    ours: String,
}

impl Test {
    fn new(set: &Set, condition: &str, holds: bool, ours: String) -> Self {
        Self { condition: format!("{}: {condition}", set.data.name), holds, ours }
    }

    fn of(self, claim: Claim) -> Claim {
        claim.test(self.condition, self.holds, self.ours)
    }
}

/// The tests of the claims, in their order.
fn tests(set: &Set, measured: &Measured) -> [Test; 7] {
    let runs = |row: usize, column: usize| &measured.cells[column][row];
    let cell = |row: usize, column: usize| mean(runs(row, column));
    let gap = |row: usize, column: usize| Gap::between(runs(row, column), runs(row, column + 1));
    let least = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::MAX, f64::min);
    let to_apart = least(&mut (0..4).flat_map(|row| [0, 2, 4].map(|at| gap(row, at).mean)));
    let growth: Vec<Gap> =
        (0..4).map(|row| growth(runs(row, 0), runs(row, 1), runs(row, 4), runs(row, 5))).collect();
    let in_print = |row: usize| {
        let of = |at: usize| set.cells[row][at] - set.cells[row][at + 1];
        of(4) - of(0)
    };
    let shown = |text: &dyn Fn(usize) -> String| {
        let all: Vec<String> = (0..4).map(|row| format!("{} {}", LEARNERS[row].0, text(row))).collect();
        all.join("; ")
    };
    let projected = least(&mut (0..6).map(|at| cell(2, at) - cell(0, at).max(cell(1, at))));
    let others = |at: usize| (0..SHARED).map(|row| cell(row, at)).fold(f64::MIN, f64::max);
    let shared = least(&mut (0..6).map(|at| cell(SHARED, at) - others(at)));
    let to_print = least(
        &mut (0..4)
            .flat_map(|row| (0..6).map(move |at| (row, at)))
            .map(|(row, at)| cell(row, at) - set.cells[row][at]),
    );
    let baseline = mean(&measured.baseline);
    let dropping = least(&mut (0..4).map(|row| cell(row, 0)));
    let smallest = cell(2, 4).min(cell(3, 4));
    let worst_in_print = (0..4).map(|row| set.cells[row][0]).chain([set.cells[2][4], set.cells[3][4]]);
    let worst_in_print = least(&mut worst_in_print.map(|f| f - set.baseline));
    [
        Test::new(
            set,
            "C has the higher mean in all 12 pairs",
            to_apart > 0.0,
            format!("{to_apart:+.1} points at least"),
        ),
        Test::new(
            set,
            "C less D is larger at 5 % than at 25 %, in the mean, for all four learners",
            growth.iter().all(|gap| gap.mean > 0.0),
            format!(
                "{}; in print {}",
                shown(&|row| growth[row].text(1)),
                shown(&|row| format!("{:+.1}", in_print(row)))
            ),
        ),
        Test::new(
            set,
            "MTBPRJ has a higher mean than MTRBP and MTFORG in all six columns",
            projected > 0.0,
            format!("{projected:+.1} points at least"),
        ),
        Test::new(
            set,
            "no other learner has a higher mean in any of the six columns",
            shared >= 0.0,
            format!("{shared:+.1} points at least to the best other"),
        ),
        Test::new(
            set,
            &format!("its mean is at most {MATCHED} below theirs"),
            cell(SHARED, 0) >= baseline - MATCHED,
            format!("{:.1} to {baseline:.1}", cell(SHARED, 0)),
        ),
        Test::new(
            set,
            &format!("these six means are at most {MATCHED} below theirs"),
            dropping.min(smallest) >= baseline - MATCHED,
            format!(
                "{:+.1} points at least; in print {worst_in_print:+.1}",
                dropping.min(smallest) - baseline
            ),
        ),
        Test::new(
            set,
            &format!("no mean is more than {BELOW} points below the paper's"),
            to_print > -BELOW,
            format!("{to_print:+.1} points at least"),
        ),
    ]
}

/// By how much C less D is larger with the smallest budget than with the largest.
fn growth(c_large: &[f64], d_large: &[f64], c_small: &[f64], d_small: &[f64]) -> Gap {
    let of = |at: usize| (c_small[at] - d_small[at]) - (c_large[at] - d_large[at]);
    Gap::of(&(0..c_large.len()).map(of).collect::<Vec<_>>())
}
