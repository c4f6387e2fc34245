//! How long a fit takes: compared with the same alternating minimisation in NumPy, an iteration compared with the first,
//! and as tasks and features grow (CS15 section 5.1 and Figure 1).

use std::cell::RefCell;
use std::fmt::Write as _;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use cognate::algorithms::ConvexConfig;
use cognate::fit::{Examples, FitOptions, Fitter, Method, Stopped, fit};
use cognate::stream::Memory;
use cognate::{Example, SparseView, TaskId, Tasks};
use rand::RngExt as _;
use serde_json::{Value, json};

use super::figure::{Panel, draw};
use super::{Measured, Options};
use crate::fitting::generator;
use crate::measure::root;

/// Points per task, and noise: CS15 section 5.1.
const POINTS: usize = 30;
const NOISE: f64 = 0.1;
/// How close to the optimum a fit must come, as a share of it.
const CLOSE: f64 = 1e-4;
const TIMES_FASTER: f64 = 10.0;
/// How many times as long as ours the others may take.
const GIVE_UP: f64 = 100.0;

/// A nearly normal draw, by the central limit theorem: close enough for inputs.
fn normal(rng: &mut impl rand::Rng) -> f64 {
    (0..12).map(|_| rng.random_range(-0.5..0.5)).sum()
}

/// Tasks with inputs of their own, and the same as text for NumPy.
fn made_up(tasks: usize, features: usize, seed: u64) -> Result<(Examples, String)> {
    let mut rng = generator(seed);
    let weights: Vec<f64> = (0..tasks * features).map(|_| normal(&mut rng)).collect();
    let (mut memory, mut text) = (Memory::new(), String::new());
    let indices: Vec<u32> = (0..features as u32).collect();
    for task in 0..tasks {
        for _ in 0..POINTS {
            let x: Vec<f64> = (0..features).map(|_| normal(&mut rng)).collect();
            let own = &weights[task * features..(task + 1) * features];
            let label = x.iter().zip(own).map(|(x, w)| x * w).sum::<f64>() + NOISE * normal(&mut rng);
            let row = SparseView::try_new(&indices, &x)?;
            memory.push(&task.to_string(), Example::new(TaskId(0), row, label));
            let values: Vec<String> = x.iter().map(|x| format!("{x:?}")).collect();
            let _ = writeln!(text, "{task},{label:?},{}", values.join(","));
        }
    }
    Ok((Examples::read(&mut memory, &Tasks::open())?, text))
}

/// Tasks that share their inputs.
fn shared(tasks: usize, features: usize, points: usize) -> Result<Examples> {
    let mut rng = generator(3);
    let mut memory = Memory::new();
    let indices: Vec<u32> = (0..features as u32).collect();
    for _ in 0..points {
        let x: Vec<f64> = (0..features).map(|_| normal(&mut rng)).collect();
        for task in 0..tasks {
            let label = (x[task % features] + x[(task + 1) % features]).sin() + NOISE * normal(&mut rng);
            let row = SparseView::try_new(&indices, &x)?;
            memory.push(&task.to_string(), Example::new(TaskId(0), row, label));
        }
    }
    Ok(Examples::read(&mut memory, &Tasks::open())?)
}

fn config(parameters: Value) -> Result<ConvexConfig> {
    Ok(serde_json::from_value(parameters)?)
}

/// Runs the part.
pub(super) fn run(options: &Options) -> Result<Measured> {
    let mut measured = Measured { text: String::new(), broken: Vec::new() };
    beside_numpy(options, &mut measured)?;
    one_iteration(&mut measured)?;
    growth(&mut measured)?;
    Ok(measured)
}

fn beside_numpy(options: &Options, measured: &mut Measured) -> Result<()> {
    let (examples, text) = made_up(100, 100, 1)?;
    let parameters = json!({ "lambda": 25.0, "delta": 1e-3, "intercept": false });
    let closely = ConvexConfig { tolerance: 1e-6, max_iterations: 20_000, ..config(parameters)? };
    let optimum = fit(&closely, &examples, &FitOptions::default())?.status;
    ensure!(optimum.stopped == Stopped::Converged, "the optimum was not found: {optimum}");
    let optimum = optimum.objective;
    let target = optimum * (1.0 + CLOSE);
    let _ = writeln!(
        measured.text,
        "100 tasks of 30 examples, 100 features, `schatten` with p = 1, seconds to an objective within {CLOSE:e} of the \
         optimum {optimum:.2}:\n\n| | seconds | above the optimum | iterations |\n|---|---|---|---|"
    );
    let mut ours = f64::INFINITY;
    for (name, method) in [
        ("cognate, as it chooses", None),
        ("cognate, proximal", Some(Method::Proximal)),
        ("cognate, alternating", Some(Method::Alternating)),
    ] {
        // The others get as much time as NumPy.
        let limit = if method.is_none() { f64::INFINITY } else { GIVE_UP * ours };
        let reached = reach(&closely, &examples, method, target, limit)?;
        if method.is_none() {
            ours = reached.seconds;
        }
        reached.write(name, optimum, &mut measured.text);
    }
    if !options.python.exists() {
        let _ =
            writeln!(measured.text, "\nNumPy was not measured: {} is not there.", options.python.display());
        return Ok(());
    }
    let data = std::env::temp_dir().join(format!("cognate-convex-{}.csv", std::process::id()));
    std::fs::write(&data, text)?;
    let script = root().join("crates/cognate-lab/src/measure/convex/alternating.py");
    let output = Command::new(&options.python)
        .arg(&script)
        .arg(&data)
        .args([target, 25.0, 1e-3, GIVE_UP * ours].map(|number| format!("{number:?}")))
        .env("OMP_NUM_THREADS", "1")
        .env("OPENBLAS_NUM_THREADS", "1")
        .output()
        .context("NumPy")?;
    let _ = std::fs::remove_file(&data);
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).context("what the script printed")?;
    let number = |name: String| found[&name].as_f64().with_context(|| format!("the script gave no {name}"));
    let mut numpy = f64::INFINITY;
    for (name, prefix) in [("NumPy, tasks apart", "apart"), ("NumPy, one system", "system")] {
        let reached = Reached {
            seconds: number(format!("{prefix}_seconds"))?,
            objective: number(format!("{prefix}_objective"))?,
            iterations: number(format!("{prefix}_iterations"))? as usize,
        };
        reached.write(name, optimum, &mut measured.text);
        numpy = numpy.min(reached.seconds);
    }
    let faster = numpy / ours;
    let _ = writeln!(
        measured.text,
        "\nAll give up at the end of the first iteration after {GIVE_UP} times as long as the first row took; those farther \
         than {CLOSE:e} above the optimum had given up. *One system* is the equation of CS15 section 3.2.1 as it stands. NumPy \
         takes more than {:.0} times as long.",
        faster.floor()
    );
    if faster < TIMES_FASTER {
        measured.broken.push(format!("{faster:.1} times faster than NumPy, not {TIMES_FASTER}"));
    }
    Ok(())
}

/// Where a search was when it reached the target or gave up.
struct Reached {
    seconds: f64,
    objective: f64,
    iterations: usize,
}

impl Reached {
    fn write(&self, name: &str, optimum: f64, text: &mut String) {
        let Self { seconds, objective, iterations } = self;
        let _ =
            writeln!(text, "| {name} | {seconds:.2} | {:.1e} | {iterations} |", objective / optimum - 1.0);
    }
}

/// Fits until the objective reaches the target, or the time is up.
fn reach(
    config: &ConvexConfig,
    examples: &Examples,
    method: Option<Method>,
    target: f64,
    limit: f64,
) -> Result<Reached> {
    let options = FitOptions { method, ..FitOptions::default() };
    let last = RefCell::new(Reached { seconds: 0.0, objective: f64::INFINITY, iterations: 0 });
    let start = Instant::now();
    let watch = |iterations: usize, objective: f64| {
        let seconds = start.elapsed().as_secs_f64();
        *last.borrow_mut() = Reached { seconds, objective, iterations };
        objective > target && seconds < limit
    };
    Fitter::new(config, examples, options.memory)?.fit(config, None, &options, &watch)?;
    Ok(last.into_inner())
}

fn one_iteration(measured: &mut Measured) -> Result<()> {
    let examples = shared(50, 20, 2000)?;
    let config = config(json!({
        "kernel": { "gaussian": { "gamma": 0.05 } }, "lambda": 0.1, "delta": 1e-3, "tolerance": 1e-12,
        "max-iterations": 12,
    }))?;
    let options = FitOptions { method: Some(Method::Alternating), ..FitOptions::default() };
    let start = Instant::now();
    let fitter = Fitter::new(&config, &examples, options.memory)?;
    let times = RefCell::new(Vec::new());
    let watch = |_: usize, _: f64| {
        times.borrow_mut().push(start.elapsed().as_secs_f64());
        true
    };
    fitter.fit(&config, None, &options, &watch)?;
    let times = times.into_inner();
    let (first, last) = (times[0], times[times.len() - 1]);
    let later = (last - first) / (times.len() - 1) as f64;
    let _ = writeln!(
        measured.text,
        "\n2000 inputs that 50 tasks share, Gaussian kernel: the first iteration, with the decomposition of the Gram matrix, \
         takes {first:.2} s, a later one {later:.3} s, a share of 1/{:.0}.",
        first / later
    );
    if later > 0.1 * first {
        measured.broken.push(format!("a later iteration takes {later:.3} s, the first {first:.3} s"));
    }
    Ok(())
}

const SIZES: [usize; 5] = [10, 40, 70, 100, 150];

fn growth(measured: &mut Measured) -> Result<()> {
    let penalties = [
        ("MTFL", json!({ "schatten": { "p": 1 } })),
        ("MTCL", json!({ "cluster": { "clusters": 5, "mean": 1.0, "between": 1.0, "within": 10.0 } })),
    ];
    let mut panels = vec![
        Panel { title: "100 tasks", x_title: "features", lines: Vec::new() },
        Panel { title: "100 features", x_title: "tasks", lines: Vec::new() },
    ];
    let _ = writeln!(
        measured.text,
        "\nSeconds to {CLOSE:e} of the optimum, by the gap, 30 examples per task:\n\n| | {} |\n|---|{}",
        SIZES.map(|size| size.to_string()).join(" | "),
        "---|".repeat(SIZES.len())
    );
    for (name, penalty) in &penalties {
        for (panel, sizes) in
            panels.iter_mut().zip([(true, "features, 100 tasks"), (false, "tasks, 100 features")])
        {
            let mut points = Vec::new();
            for size in SIZES {
                let (tasks, features) = if sizes.0 { (100, size) } else { (size, 100) };
                let (examples, _) = made_up(tasks, features, 2)?;
                let config = config(json!({
                    "penalty": penalty, "lambda": 25.0, "intercept": false, "tolerance": CLOSE, "max-iterations": 400,
                }))?;
                let start = Instant::now();
                fit(&config, &examples, &FitOptions::default())?;
                points.push((size as f64, start.elapsed().as_secs_f64()));
            }
            let cells: Vec<String> = points.iter().map(|point| format!("{:.3}", point.1)).collect();
            let _ = writeln!(measured.text, "| {name}, {} | {} |", sizes.1, cells.join(" | "));
            panel.lines.push((name, points));
        }
    }
    std::fs::write(root().join("docs/convex.svg"), draw(&panels))?;
    measured.text += "\n![Seconds of a fit against features and against tasks](convex.svg)\n";
    Ok(())
}
