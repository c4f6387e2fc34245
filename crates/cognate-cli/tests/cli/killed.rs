//! The server, killed at random moments under load: nothing acknowledged is lost, and nothing is learnt twice.

use std::path::Path;

use cognate_server::drill::Drill;

use super::support::Folder;

#[test]
fn killed_under_load_it_loses_nothing_and_learns_nothing_twice() {
    let folder = Folder::new();
    let program = Path::new(env!("CARGO_BIN_EXE_cognate"));
    let drill = Drill { program, folder: &folder.path("data"), kills: 60, clients: 8, seed: 26 };
    let killed = drill.run().unwrap();
    assert_eq!((killed.wrong.as_slice(), killed.kills), (&[][..], 60));
    assert_eq!(killed.acknowledged, killed.learnt);
    assert!(killed.acknowledged > 1000 && killed.again > 0, "{killed:?}");
}
