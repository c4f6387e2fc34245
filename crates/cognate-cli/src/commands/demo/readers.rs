//! A made stream that a person can label: readers, grouped by what they like, and texts about it.
//!
//! A text has words of one topic for the most part. A reader likes a text when its words are mostly of topics that the reader's group
//! likes; readers of a group differ a little, and contrary ones like what the first group does not. One label in thirty is wrong. Some
//! readers change their mind after a while.

use cognate::model::Beside;
use cognate_server::examples::{Examples, Row, RowFeatures};

/// Topics, and words of each.
const TOPICS: [(&str, [&str; 12]); 4] = [
    (
        "sports",
        [
            "goal", "match", "team", "coach", "league", "score", "race", "medal", "referee", "stadium",
            "sprint", "final",
        ],
    ),
    (
        "cooking",
        [
            "recipe", "oven", "butter", "garlic", "dough", "simmer", "spice", "bake", "soup", "herbs", "pan",
            "dessert",
        ],
    ),
    (
        "travel",
        [
            "flight", "island", "hotel", "passport", "beach", "train", "museum", "border", "hike", "harbour",
            "map", "guide",
        ],
    ),
    (
        "money",
        [
            "bank", "shares", "interest", "budget", "loan", "market", "tax", "savings", "profit", "invoice",
            "bond", "fund",
        ],
    ),
];
/// Words of a text.
const WORDS: usize = 7;
/// Readers of each group, and contrary ones.
const READERS: usize = 9;
const CONTRARY: usize = 2;
/// Texts after which the last reader of each group changes over to the next group's taste.
const CHANGE: u64 = 6000;

/// One text in so many has a label that is wrong, and one in so many has none.
const WRONG: u64 = 30;
const UNLABELLED: u64 = 25;

/// The stream, as long as anyone wants it.
#[derive(Debug)]
pub(super) struct Readers {
    state: u64,
    texts: u64,
    /// Names, and how much each likes each topic.
    people: Vec<(String, [f64; 4])>,
}

impl Readers {
    pub(super) fn new(seed: u64) -> Self {
        let mut readers = Self { state: seed, texts: 0, people: Vec::new() };
        for (group, (name, _)) in TOPICS.iter().enumerate() {
            for number in 1..=READERS {
                let taste = readers.taste(group, 1.0);
                readers.people.push((format!("{name}-{number:02}"), taste));
            }
        }
        for number in 1..=CONTRARY {
            let taste = readers.taste(0, -1.0);
            readers.people.push((format!("contrary-{number:02}"), taste));
        }
        readers
    }

    /// The next number (`SplitMix64`).
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, most: usize) -> usize {
        (self.next() % most as u64) as usize
    }

    /// A group likes its own topic, and the others less.
    fn taste(&mut self, group: usize, sign: f64) -> [f64; 4] {
        std::array::from_fn(|topic| {
            let liked = if topic == group { 1.0 } else { -0.35 };
            let own = (self.next() >> 11) as f64 / (1_u64 << 53) as f64 - 0.5;
            sign * liked + 0.3 * own
        })
    }

    /// So many more texts, for readers drawn at random.
    pub(super) fn batch(&mut self, count: usize) -> Examples {
        let mut examples = Examples::default();
        for _ in 0..count {
            self.text(&mut examples);
        }
        examples
    }

    fn text(&mut self, examples: &mut Examples) {
        self.texts += 1;
        if self.texts == CHANGE {
            for group in 0..4 {
                let taste = self.taste((group + 2) % 4, 1.0);
                self.people[group * READERS + READERS - 1].1 = taste;
            }
        }
        let (reader, main) = (self.below(self.people.len()), self.below(4));
        let mut words: Vec<(usize, &str)> = Vec::new();
        while words.len() < WORDS {
            let topic = if self.below(3) > 0 { main } else { self.below(4) };
            let word = TOPICS[topic].1[self.below(12)];
            if !words.iter().any(|(_, known)| *known == word) {
                words.push((topic, word));
            }
        }
        let liking: f64 = words.iter().map(|(topic, _)| self.people[reader].1[*topic]).sum();
        let is_wrong = self.next().is_multiple_of(WRONG);
        let is_unlabelled = self.next().is_multiple_of(UNLABELLED);
        let label = if (liking > 0.0) == is_wrong { -1.0 } else { 1.0 };
        examples.push(&Row {
            task: Some(&self.people[reader].0),
            label: Some(label).filter(|_| !is_unlabelled),
            id: None,
            beside: Beside::default(),
            features: RowFeatures::Named(words.into_iter().map(|(_, word)| (word, 1.0)).collect()),
        });
    }
}
