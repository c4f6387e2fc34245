//! Does memory follow what a compressed file unpacks to? Not where there is nothing in it.

use std::io::Write as _;
use std::sync::atomic::Ordering;

use cognate::run::RunOptions;
use cognate::stream::{Input, ReadOptions};
use cognate::{Model, RunConfig};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::counting::{HELD, MOST, alone};

/// A gzip file of an example and so many mebibytes of blank lines.
fn bomb(mebibytes: usize) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(b"+1 qid:1 1:1\n").unwrap();
    let blank = vec![b'\n'; 1 << 20];
    (0..mebibytes).for_each(|_| gzip.write_all(&blank).unwrap());
    gzip.finish().unwrap()
}

/// The most bytes held while it is learnt, beyond those held before.
fn most_held(bomb: Vec<u8>) -> usize {
    let input = Input::Bytes { name: "bomb".to_owned(), bytes: bomb.into() };
    let before = HELD.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let mut model = Model::new(&RunConfig::default()).unwrap();
    let mut reader = model.reader(vec![input], ReadOptions::default()).unwrap();
    model.learn(&mut reader, &RunOptions::default(), &mut ()).unwrap();
    assert_eq!(model.metrics().total().examples, 1);
    MOST.load(Ordering::Relaxed) - before
}

#[test]
fn blank_lines_take_no_memory() {
    let _alone = alone();
    let (few, many) = (most_held(bomb(1)), most_held(bomb(30)));
    assert!(many < few + (1 << 20), "{many} bytes instead of {few}");
    assert!(many < 8 << 20, "{many} bytes");
}
