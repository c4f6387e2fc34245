//! A spam filter per user, live: messages arrive one by one, are answered at once, and learnt when somebody says what
//! they were. Nobody trains anything: a new user starts from what the others have taught.
//!
//! ```console
//! $ cargo run --release -p cognate --example live_filter
//! ```
#![expect(clippy::print_stdout, reason = "an example shows what it found")]

use std::error::Error;

use cognate::{Model, RunConfig};

/// A message as it arrives: whose inbox, which words, and what the user later says about it.
struct Message {
    user: String,
    words: Vec<(&'static str, f64)>,
    spam: bool,
}

/// Words of spam, and of other mail.
const SPAM: [&str; 4] = ["offer", "winner", "free", "click"];
const HAM: [&str; 4] = ["meeting", "lunch", "report", "thanks"];

/// The `at`-th message, made up: users in turn, spam and other mail in a fixed mixture.
fn message(at: usize, users: usize) -> Message {
    let (user, turn) = (at % users, at / users);
    let spam = (turn * 7 + user * 3) % 5 < 2;
    let (own, others) = if spam { (SPAM, HAM) } else { (HAM, SPAM) };
    let words = vec![(own[turn % 4], 1.0), (own[(turn + user) % 4], 1.0), (others[(at * 5) % 4], 0.5)];
    let mut unique: Vec<(&'static str, f64)> = Vec::new();
    for (word, count) in words {
        match unique.iter_mut().find(|(known, _)| *known == word) {
            Some((_, sum)) => *sum += count,
            None => unique.push((word, count)),
        }
    }
    Message { user: format!("user{user}"), words: unique, spam }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut model = Model::new(&RunConfig::default())?;
    let (mut wrong, users, messages) = (0, 20, 400);
    for at in 0..messages {
        let Message { user, words, spam } = message(at, users);
        let answer = model.predict_one(&user, &words)?;
        wrong += u32::from((answer.label > 0.0) != spam);
        model.learn_one(&user, &words, if spam { 1.0 } else { -1.0 })?;
    }
    println!("{messages} messages of {users} users, {wrong} answered wrongly before they were learnt");

    let newcomer = model.predict_one("newcomer", &[("winner", 1.0), ("free", 1.0)])?;
    let probability = newcomer.probability.unwrap_or(0.5);
    println!("a user never seen, two words of spam: spam with probability {probability:.2}");

    println!("what the model knows about user3:");
    for feature in model.explain("user3")?.weights.iter().take(4) {
        println!("  {:8} {:+.2}", feature.name, feature.weight);
    }

    // Saved while it runs: written to a temporary file, synced, renamed.
    let path = std::env::temp_dir().join("cognate-live-filter.cog");
    model.save(&path)?;
    let restored = Model::load(&path)?;
    assert_eq!(restored.to_bytes(), model.to_bytes());
    println!("saved, loaded, and the same to the byte");
    std::fs::remove_file(path)?;
    assert!(wrong < messages as u32 / 5, "sharing answers most messages rightly");
    Ok(())
}
