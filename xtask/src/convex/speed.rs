//! How long a fit takes: beside the same alternating minimisation in NumPy, an iteration beside the first, and as tasks
//! and features grow (CS15 section 5.1 and Figure 1).

use std::cell::RefCell;
use std::fmt::Write as _;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use cognate::algorithms::ConvexConfig;
use cognate::batch::{Examples, FitOptions, Fitter, Method, fit};
use cognate::stream::Memory;
use cognate::{Example, SparseView, TaskId, Tasks};
use rand::RngExt as _;
use serde_json::{Value, json};

use super::figure::{Panel, draw};
use super::fitting::generator;
use super::{Measured, Options};
use crate::generated::root;

/// Points a task, noise: CS15 section 5.1.
const POINTS: usize = 30;
const NOISE: f64 = 0.1;
/// How close to the optimum, as a share of it.
const CLOSE: f64 = 1e-4;
const TIMES_FASTER: f64 = 10.0;

/// A normal draw, by the central limit: close enough for inputs.
fn normal(rng: &mut impl rand::Rng) -> f64 {
    (0..12).map(|_| rng.random_range(-0.5..0.5)).sum()
}

/// Tasks with inputs of their own, and the same as text for others.
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
            memory.push(&task.to_string(), Example { task: TaskId(0), features: row, label });
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
            memory.push(&task.to_string(), Example { task: TaskId(0), features: row, label });
        }
    }
    Ok(Examples::read(&mut memory, &Tasks::open())?)
}

fn config(parameters: Value) -> Result<ConvexConfig> {
    Ok(serde_json::from_value(parameters)?)
}

/// Seconds of the faster of two.
fn fastest(mut run: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..2 {
        let start = Instant::now();
        run()?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(best)
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
    let closely = ConvexConfig { tolerance: 3e-6, max_iterations: 6000, ..config(parameters)? };
    let found = fit(&closely, &examples, &FitOptions::default())?.status;
    ensure!(found.gap <= 1e-5 * found.objective, "the optimum was not found: {found}");
    // It is no higher than this, and no lower than what the gap leaves: every time below is to a share of the latter.
    let optimum = found.objective - found.gap;
    let wanted = ConvexConfig { tolerance: CLOSE, ..closely };
    let timed = |method: Option<Method>| -> Result<(f64, f64, usize)> {
        let options = FitOptions { method, ..FitOptions::default() };
        let (mut objective, mut iterations) = (f64::NAN, 0);
        let seconds = fastest(|| {
            let status = fit(&wanted, &examples, &options)?.status;
            (objective, iterations) = (status.objective, status.iterations);
            Ok(())
        })?;
        Ok((seconds, objective / optimum - 1.0, iterations))
    };
    let _ = writeln!(
        measured.text,
        "100 tasks of 30 examples, 100 features, `schatten` with p = 1, seconds to an objective within {CLOSE:e} of the \
         optimum {optimum:.2}:\n\n| | seconds | above the optimum | iterations |\n|---|---|---|---|"
    );
    let mut ours = f64::NAN;
    for (name, method) in [
        ("cognate, as it chooses", None),
        ("cognate, alternating", Some(Method::Alternating)),
        ("cognate, proximal", Some(Method::Proximal)),
    ] {
        let (seconds, above, iterations) = timed(method)?;
        if method.is_none() {
            ours = seconds;
        }
        let _ = writeln!(measured.text, "| {name} | {seconds:.3} | {above:.1e} | {iterations} |");
    }
    if !options.python.exists() {
        let _ =
            writeln!(measured.text, "\nNumPy was not measured: {} is not there.", options.python.display());
        return Ok(());
    }
    let data = std::env::temp_dir().join(format!("cognate-convex-{}.csv", std::process::id()));
    std::fs::write(&data, text)?;
    let script = root().join("xtask/src/convex/alternating.py");
    let target = optimum * (1.0 + CLOSE);
    let output = Command::new(&options.python)
        .arg(&script)
        .arg(&data)
        .args([format!("{target:?}"), "25.0".to_owned(), "1e-3".to_owned()])
        .env("OMP_NUM_THREADS", "1")
        .env("OPENBLAS_NUM_THREADS", "1")
        .output()
        .context("NumPy")?;
    let _ = std::fs::remove_file(&data);
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).context("what the script printed")?;
    let number = |name: &str| found[name].as_f64().with_context(|| format!("the script gave no {name}"));
    for (name, prefix) in [("NumPy, tasks apart", "apart"), ("NumPy, one system", "system")] {
        let _ = writeln!(
            measured.text,
            "| {name} | {:.3} | {:.1e} | {} |",
            number(&format!("{prefix}_seconds"))?,
            number(&format!("{prefix}_objective"))? / optimum - 1.0,
            number(&format!("{prefix}_iterations"))?
        );
    }
    let apart = number("apart_seconds")? / ours;
    let system = number("system_seconds")? / ours;
    let _ = writeln!(
        measured.text,
        "\nNumPy takes {apart:.1} times as long with the tasks apart, {system:.1} times with the equation of CS15 section \
         3.2.1 as it stands."
    );
    if system < TIMES_FASTER {
        measured.broken.push(format!("{system:.1} times faster than NumPy, not {TIMES_FASTER}"));
    }
    Ok(())
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
        "\nSeconds to {CLOSE:e} of the optimum, by the gap, 30 examples a task:\n\n| | {} |\n|---|{}",
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
    Ok(())
}
