//! All examples at once: fit related tasks to the optimum, look at how they are related, save, predict.
//!
//! ```console
//! $ cargo run --release -p cognate --example fit_and_save
//! ```
#![expect(clippy::print_stdout, reason = "an example shows what it found")]

use std::error::Error;

use cognate::fit::{Examples, FitOptions};
use cognate::stream::Labels;
use cognate::{Input, Model, ReadOptions, RunConfig, TaskId};

/// Readings of six sensors: four follow the same law, two its opposite, each with an offset of its own.
fn readings() -> String {
    let mut text = String::new();
    for at in 0..240_u32 {
        let sensor = at % 6;
        let (temperature, load) =
            (f64::from(at * 37 % 101) / 50.0 - 1.0, f64::from(at * 53 % 97) / 48.0 - 1.0);
        let noise = f64::from(at * 29 % 23) / 115.0 - 0.1;
        let sign = if sensor < 4 { 1.0 } else { -1.0 };
        let reading = sign * (2.0 * temperature - load) + f64::from(sensor) + noise;
        text += &format!("{reading} task:sensor{sensor} 1:{temperature} 2:{load}\n");
    }
    text
}

fn main() -> Result<(), Box<dyn Error>> {
    let config: RunConfig = serde_json::from_str(r#"{"learner": {"convex": {"lambda": 0.1}}}"#)?;
    let input = Input::Bytes { name: "readings".to_owned(), bytes: readings().into_bytes().into() };
    let mut reader = config.reader(vec![input], ReadOptions::default().labels(Labels::Real))?;
    let examples = Examples::read(&mut reader, &config.declared_tasks()?)?;

    // The watch is called after every iteration and may stop the search; this one never does.
    let (model, fitted) = Model::fit(&config, &examples, &FitOptions::default(), &|_, _| true)?;
    println!("{} readings of {} sensors: {}", examples.len(), model.tasks().len(), fitted.status);

    println!("how much sensor0 teaches the others:");
    for (at, name) in model.tasks().names().enumerate() {
        let relation = model.learner().as_inspect().relation(TaskId(at as u32), TaskId(0));
        println!("  {name}  {relation:+.3}");
    }

    let path = std::env::temp_dir().join("cognate-fit-and-save.cog");
    model.save(&path)?;
    let model = Model::load(&path)?;
    std::fs::remove_file(path)?;
    let reading = model.predict_one("sensor5", &[(0_u32, 0.5), (1, -0.5)])?;
    println!("sensor5 at temperature 0.5 and load -0.5: {:.2} (the law says 3.50)", reading.label);
    assert!((reading.label - 3.5).abs() < 0.2);
    Ok(())
}
