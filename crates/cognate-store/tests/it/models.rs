//! The same with models: what is recovered is, byte for byte, what learning the acknowledged examples from the beginning gives.

use std::path::Path;

use cognate::{Model, RunConfig};
use cognate_store::{Group, Opening, Store, StoreError, StoreOptions};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use cognate_store::world::{Trouble, World};

/// An entry: task, two features, label.
fn learn(model: &mut Model, entry: &[u8]) {
    let [task, one, other, label] = entry else { panic!("entries have four bytes") };
    let features = [(format!("f{one}"), 1.0), (format!("g{other}"), 0.5)];
    let features: Vec<(&str, f64)> = features.iter().map(|(name, value)| (&**name, *value)).collect();
    let label = if *label > 0 { 1.0 } else { -1.0 };
    model.learn_one(&format!("t{task}"), &features, label).unwrap();
}

fn new() -> Model {
    Model::new(&RunConfig::default()).unwrap()
}

fn open(world: &World) -> Result<(Store<World>, Model), StoreError> {
    let opening = Opening::new(world.clone(), Path::new("data"), StoreOptions { segment_bytes: 3000 })?;
    let mut model = opening.snapshot().map_or_else(new, |saved| Model::from_bytes(&saved.state).unwrap());
    let (store, _) = opening.replay(|_, entry| {
        learn(&mut model, entry);
        Ok(())
    })?;
    Ok((store, model))
}

fn live(
    world: &World,
    rng: &mut SmallRng,
    asked: &mut Vec<Vec<u8>>,
    acknowledged: &mut usize,
) -> Result<(), StoreError> {
    let (mut store, mut model) = open(world)?;
    asked.truncate(store.last() as usize);
    let mut group = Group::default();
    for _ in 0..20 {
        if rng.random_range(0..12) == 0 {
            store.save_snapshot(&model.to_bytes(), b"")?;
        }
        group.clear();
        let before = asked.len();
        for _ in 0..rng.random_range(1..6) {
            let entry: Vec<u8> = [5, 9, 9, 2].iter().map(|most| rng.random_range(0..*most)).collect();
            group.push(&entry);
            asked.push(entry);
        }
        *acknowledged = store.append(&mut group)? as usize;
        asked[before..].iter().for_each(|entry| learn(&mut model, entry));
    }
    Ok(())
}

#[test]
fn a_recovered_model_is_the_one_that_learnt_everything() {
    for seed in 0..40 {
        let (world, mut rng) = (World::new(seed), SmallRng::seed_from_u64(seed));
        let (mut asked, mut acknowledged) = (Vec::new(), 0);
        for _ in 0..3 {
            world.trouble(Trouble::Crash(world.calls() + rng.random_range(1..120)));
            let _ended = live(&world, &mut rng, &mut asked, &mut acknowledged);
            world.restart();
        }
        let (store, recovered) = open(&world).unwrap();
        assert!(store.last() as usize >= acknowledged, "seed {seed}");
        let mut replayed = new();
        asked[..store.last() as usize].iter().for_each(|entry| learn(&mut replayed, entry));
        assert_eq!(recovered.to_bytes(), replayed.to_bytes(), "seed {seed}");
    }
}
