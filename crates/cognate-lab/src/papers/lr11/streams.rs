//! The sets of LR11: streams to learn, and to test on.

use cognate::SparseView;
use cognate::stream::Memory;

use crate::Lab;
use crate::data::{self, NEWS20, SENTIMENT16, SPAM_A};

/// The terms that are kept of 20newsgroups: with the 100 commonest it is as hard as the paper's, see the set's README.
const TERMS: u32 = 100;

/// A set of the paper: examples to learn, and to test on.
pub(super) struct Set {
    pub(super) name: &'static str,
    pub(super) train: Memory,
    pub(super) test: Memory,
}

/// Some examples of a stream.
pub(super) fn part(stream: &Memory, wanted: impl Fn(usize, &str) -> bool) -> Memory {
    let mut some = Memory::new();
    for (at, (task, example)) in stream.examples().enumerate() {
        if wanted(at, task) {
            some.push(task, example);
        }
    }
    some
}

pub(super) fn news20(lab: &Lab) -> anyhow::Result<Set> {
    let [train, test] = [NEWS20.files[0], NEWS20.files[1]].map(|file| data::unit_rows(lab, file));
    Ok(Set { name: "20newsgroups", train: cut(&train?, TERMS)?, test: cut(&test?, TERMS)? })
}

pub(super) fn sets(lab: &Lab) -> anyhow::Result<Vec<Set>> {
    let own = |_: usize, task: &str| task.parse::<u32>().is_ok_and(|task| task <= 7);
    let [train, test] = [SENTIMENT16.files[0], SENTIMENT16.files[1]].map(|file| data::unit_rows(lab, file));
    let spam = data::unit_rows(lab, SPAM_A.files[0])?;
    // Mails are sorted by user: of each user's 2500 mails 1000 are learnt, and 1333 others are the test. A hash of the
    // position serves as a random draw.
    let draw = |at: usize| (at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    let share = |at: usize| draw(at) as f64 / (1_u64 << 32) as f64;
    Ok(vec![
        news20(lab)?,
        Set { name: "Sentiment", train: part(&train?, own), test: part(&test?, own) },
        Set {
            name: "Spam",
            train: part(&spam, |at, _| share(at) < 0.4),
            test: part(&spam, |at, _| (0.4..0.4 + 4.0 / 7.5).contains(&share(at))),
        },
    ])
}

/// Rows of the first features only, scaled to length 1 again.
fn cut(stream: &Memory, features: u32) -> anyhow::Result<Memory> {
    let kept = |row: SparseView<'_>| row.iter().filter(|(feature, _)| *feature < features).collect();
    data::changed(stream, |_, row| data::to_length_1(kept(row)))
}
