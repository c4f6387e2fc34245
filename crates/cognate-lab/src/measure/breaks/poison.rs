//! Tasks that teach what is wrong: flipped labels, and vectors aimed at what tasks share.

use std::fmt::Write as _;

use anyhow::Result;
use cognate::Example;
use cognate::SparseView;
use cognate::stream::Memory;
use cognate::stream::synthetic::Related;
use serde_json::{Value, json};

use super::{Counted, Line};
use crate::measure::{in_parallel, sets};

const TASKS: usize = 50;
const BAD: usize = 20;
/// How far the other tasks may err above their error without the bad ones.
const MOST: f64 = 0.35;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Poison {
    LeftOut,
    /// All labels of the bad tasks.
    Flipped,
    /// Labels by chance.
    Random,
    /// Every example is the common vector of all tasks, or its opposite, with the wrong label.
    Aimed,
    /// The same with the wrong label in two of three.
    AimedByTurns,
}

pub(super) fn measure() -> Result<String> {
    let mut text = format!(
        "| learner | without | {BAD} of {TASKS} tasks flipped | random | aimed | aimed, two of three |\n|---|---|---|---|---|---|\n"
    );
    let mut most = 0.0_f64;
    for (name, learner) in [
        ("adaptive", json!("adaptive")),
        ("adaptive, b = K", json!({"adaptive": {"interaction": {"coupled": {"b": TASKS}}}})),
        ("rom-pgd", json!("rom-pgd")),
    ] {
        let without = error(&learner, Poison::LeftOut)?;
        let mut line = format!("| {name} | {:.2} % |", 100.0 * without);
        for poison in [Poison::Flipped, Poison::Random, Poison::Aimed, Poison::AimedByTurns] {
            let change = error(&learner, poison)? / without - 1.0;
            if name == "adaptive" {
                most = most.max(change);
            }
            let _ = write!(line, " {:+.1} % |", 100.0 * change);
        }
        let _ = writeln!(text, "{line}");
    }
    let _ = writeln!(
        text,
        "\n`adaptive` is at most {:+.1} % above the run without them (wanted: {:.0} %).",
        100.0 * most,
        100.0 * MOST
    );
    print!("\n{text}");
    Ok(text)
}

fn error(learner: &Value, poison: Poison) -> Result<f64> {
    let seeds: Vec<u64> = super::SEEDS.collect();
    let errors = in_parallel(&seeds, |seed| of_seed(learner, poison, *seed))?;
    Ok(errors.iter().sum::<f64>() / errors.len() as f64)
}

fn of_seed(learner: &Value, poison: Poison, seed: u64) -> Result<f64> {
    let made =
        Related { tasks: TASKS, features: 50, examples: 20_000, flips: 0.02, seed, ..Related::default() }
            .generate();
    let mut common: Vec<f64> = vec![0.0; 50];
    made.truth.iter().for_each(|truth| common.iter_mut().zip(truth).for_each(|(sum, weight)| *sum += weight));
    let length = common.iter().map(|weight| weight * weight).sum::<f64>().sqrt();
    common.iter_mut().for_each(|weight| *weight /= length);
    let opposite: Vec<f64> = common.iter().map(|weight| -weight).collect();
    let (mut stream, mut lines) = (Memory::new(), Vec::new());
    for (at, (task, example)) in made.stream.examples().enumerate() {
        let bad = task.parse::<usize>().is_ok_and(|task| task > TASKS - BAD);
        if bad && poison == Poison::LeftOut {
            continue;
        }
        let draw = (at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
        let coin = draw.is_multiple_of(2);
        let sign = if coin { 1.0 } else { -1.0 };
        let aimed = SparseView::try_new(example.features.indices(), if coin { &common } else { &opposite })?;
        let example = match poison {
            _ if !bad => example,
            Poison::LeftOut => continue,
            Poison::Flipped => Example { label: -example.label, ..example },
            Poison::Random => Example { label: sign, ..example },
            Poison::Aimed => Example { features: aimed, label: -sign, ..example },
            Poison::AimedByTurns => {
                let label = if (draw / 2).is_multiple_of(3) { sign } else { -sign };
                Example { features: aimed, label, ..example }
            }
        };
        stream.push(task, example);
        lines.push(Line::counted(!bad));
    }
    let mut counted = Counted { lines: &lines, at: 0, examples: 0.0, mistakes: 0.0, squares: 0.0 };
    sets::run_observed(learner, stream, &mut counted)?;
    Ok(counted.mistakes / counted.examples)
}
