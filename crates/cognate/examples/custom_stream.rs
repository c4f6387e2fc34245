//! A stream of your own: implement [`Stream`] over whatever you have, and watch the run with an [`Observer`].
//!
//! ```console
//! $ cargo run --release -p cognate --example custom_stream
//! ```
#![expect(clippy::print_stdout, reason = "an example shows what it found")]

use std::error::Error;
use std::ops::ControlFlow;

use cognate::run::Progress;
use cognate::stream::Batch;
use cognate::{
    Example, Metrics, Model, Observer, RoundReport, RunConfig, RunOptions, SparseView, Stream, StreamError,
    TaskId, Tasks,
};

/// Clicks from a queue: users by number, features by number, a label that says whether they clicked.
struct Clicks {
    next: u32,
    end: u32,
    /// Users that have gone out; a stream names each new task once, in the order of its number.
    met: u32,
}

/// Number of users.
const USERS: u32 = 8;

/// Examples handed over at a time: small enough to stay in cache.
const BATCH: u32 = 256;

impl Stream for Clicks {
    fn fill(&mut self, batch: &mut Batch) -> Result<(), StreamError> {
        batch.clear();
        for at in self.next..self.end.min(self.next + BATCH) {
            let user = at % USERS;
            if user >= self.met {
                batch.name_task(format!("user{user}"));
                self.met = user + 1;
            }
            // The page, and the hour of the day; users click on even pages, the last one on odd ones.
            let (page, hour) = ((at.wrapping_mul(2_654_435_761) >> 24) & 15, 16 + (at / USERS) % 24);
            let clicks = (page % 2 == 0) == (user + 1 < USERS);
            let indices = [page, hour];
            let features = SparseView::try_new(&indices, &[1.0, 0.2]).expect("pages come before hours");
            batch.push(Example::new(TaskId(user), features, if clicks { 1.0 } else { -1.0 }));
        }
        self.next += batch.len() as u32;
        Ok(())
    }

    fn rewind(&mut self) -> Result<(), StreamError> {
        self.next = 0;
        Ok(())
    }
}

/// Counts the mistakes of each hundred examples, and stops after a hundred without one.
#[derive(Default)]
struct UntilFlawless {
    mistakes: Vec<u32>,
    examples: usize,
}

impl Observer for UntilFlawless {
    fn observe(&mut self, report: &RoundReport, _: &Tasks, _: &Metrics) {
        if self.examples.is_multiple_of(100) {
            self.mistakes.push(0);
        }
        self.examples += 1;
        if let Some(last) = self.mistakes.last_mut() {
            *last += u32::from(report.mistake);
        }
    }

    fn batch_done(&mut self, _: Progress, _: &Model) -> ControlFlow<()> {
        let whole = self.examples / 100;
        if self.mistakes[..whole].last() == Some(&0) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut model = Model::new(&RunConfig::default())?;
    let mut clicks = Clicks { next: 0, end: 20_000, met: 0 };
    let mut watch = UntilFlawless::default();
    model.learn(&mut clicks, &RunOptions::default(), &mut watch)?;
    let total = model.metrics().total();
    println!("{} examples of {} users, {} mistakes", total.examples, model.tasks().len(), total.mistakes);
    println!("mistakes per hundred: {:?}", watch.mistakes);
    for user in ["user0", "user7"] {
        let answer = model.predict_one(user, &[(4_u32, 1.0), (16, 0.2)])?;
        println!("{user} on page 4: {}", if answer.label > 0.0 { "clicks" } else { "does not click" });
    }
    assert!(total.error() < 0.2, "even pages and the user who is opposed are learnt");
    Ok(())
}
