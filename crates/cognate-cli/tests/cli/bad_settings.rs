//! Wrong flags, parameters and config files: does the message say what is wrong, and where?

use super::support::{Folder, related};

/// A folder with a small stream.
fn folder() -> Folder {
    Folder::with("a.svm", related(3, 30))
}

/// Learns with a config file that must be refused.
fn refuses_config(content: &str, message: &str) {
    let folder = folder();
    folder.write("run.toml", content);
    folder.refused("learn a.svm --quiet --config run.toml", &[message]);
}

#[test]
fn unknown_flags_and_commands_name_the_nearest() {
    let folder = folder();
    folder.refused("learn a.svm --lerner x", &["unexpected argument '--lerner'", "'--learner'"]);
    folder.refused("lern a.svm", &["unrecognized subcommand 'lern'", "'learn'"]);
    folder.refused("learn", &["required arguments were not provided", "<DATA>"]);
    folder.refused("predict a.svm", &["required arguments were not provided", "--model <M>"]);
    folder.refused("learn a.svm --seed x", &["invalid value 'x' for '--seed <N>'"]);
    folder.refused("learn a.svm --threads 0", &["invalid value '0' for '--threads <N>'"]);
    folder.refused("inspect a.svm --json --weights", &["'--json' cannot be used with", "--weights"]);
}

#[test]
fn an_unknown_learner_names_the_known_ones() {
    let message = "error: --learner: unknown learner \"perceptrn\"; known: perceptron";
    folder().refused("learn a.svm --quiet --learner perceptrn", &[message]);
    folder().refused("algorithms perceptrn", &["error: unknown learner \"perceptrn\"; known: perceptron"]);
}

#[test]
fn a_set_that_is_wrong_is_named_with_what_was_expected() {
    let folder = folder();
    for (set, message) in [
        ("foo", "expected KEY=VALUE, e.g. interaction.coupled.b=4"),
        ("=4", "expected KEY=VALUE, e.g. interaction.coupled.b=4"),
        ("interacton=pairwise", "unknown field `interacton`, expected `interaction`"),
        (
            "interaction=coupeld",
            "unknown variant `coupeld`, expected one of `coupled`, `pooled`, `graph`, `matrix`, `independent`, `pairwise`",
        ),
        ("interaction.coupled.c=1", "unknown field `c`, expected `b`"),
        ("interaction.coupled.b=abc", "invalid value: string \"abc\", expected a number or \"auto\""),
        ("interaction.coupled=1", "invalid type: integer `1`, expected struct CoupledConfig"),
        ("interaction.graph.edges=ring", "unknown variant `ring`, expected `complete`"),
    ] {
        let ran = folder.refused(&format!("learn --learner perceptron a.svm --quiet --set {set}"), &[]);
        assert_eq!(ran.stderr, format!("error: --set {set}: {message}\n"));
    }
}

#[test]
fn parameters_out_of_range_are_named_by_their_path() {
    let folder = folder();
    for (flags, message) in [
        (
            "--set interaction.coupled.b=-1",
            "learner.perceptron.interaction.coupled.b: must be a finite number of at least 0, got -1",
        ),
        ("--passes 0", "stream.passes: must be at least 1, got 0"),
        ("--clip=-1", "stream.clip: must be positive and finite, got -1"),
        ("--features 0", "features: must be at least 1, got 0"),
        ("--tasks 0", "tasks: must be at least 1, got 0"),
        ("--tasks a,a", "tasks: the name \"a\" is given twice"),
        ("--tasks a,,b", "tasks: the name \"\" is empty"),
    ] {
        let ran = folder.refused(&format!("learn --learner perceptron a.svm --quiet {flags}"), &[]);
        assert_eq!(ran.stderr, format!("error: {message}\n"), "{flags}");
    }
}

#[test]
fn parameters_that_are_no_finite_numbers_are_refused_however_they_are_given() {
    let folder = folder();
    for flag in ["--bias=inf", "--bias=nan", "--clip=inf", "--clip=nan"] {
        let name = flag.split('=').next().unwrap();
        let ran = folder.refused(&format!("learn a.svm --quiet {flag}"), &[]);
        assert_eq!(ran.stderr, format!("error: {name}: must be a finite number\n"), "{flag}");
    }
    for set in ["interaction.coupled.b=nan", "interaction.coupled.b=inf", "interaction.matrix.rows=[[nan]]"] {
        let ran = folder.refused(&format!("learn a.svm --quiet --set {set}"), &[]);
        assert_eq!(ran.stderr, format!("error: --set {set}: must be a finite number\n"));
    }
    refuses_config("[stream]\nbias = inf\n", "error: run.toml: stream.bias: must be a finite number");
    refuses_config("[stream]\nclip = nan\n", "error: run.toml: stream.clip: must be a finite number");
}

#[test]
fn every_problem_of_a_config_is_told_at_once() {
    let message =
        ["stream.passes: must be at least 1, got 0", "stream.clip: must be positive and finite, got 0"];
    folder().refused("learn a.svm --quiet --passes 0 --clip 0", &message);
}

#[test]
fn flags_with_an_unknown_choice_name_the_flag_and_the_choices() {
    let folder = folder();
    for (flag, message) in [
        (
            "--order shufle",
            "unknown variant `shufle`, expected one of `shuffle`, `file`, `interleave`, `adversarial`",
        ),
        ("--normalize l3", "unknown variant `l3`, expected `none` or `l2`"),
        ("--format vww", "unknown variant `vww`, expected one of `vw`, `svm`, `csv`, `jsonl`"),
    ] {
        let ran = folder.refused(&format!("learn a.svm --quiet {flag}"), &[]);
        assert_eq!(ran.stderr, format!("error: {flag}: {message}\n"));
    }
}

#[test]
fn errors_of_a_config_file_have_line_and_column() {
    refuses_config(
        "tasks = 4\n[stream]\nnormalise = \"l2\"\n",
        "error: run.toml:3:1: unknown field `normalise`, expected one of `normalize`, ",
    );
    refuses_config("tasks = 4\n[stream\n", "error: run.toml:2:8: unclosed table, expected `]`");
    refuses_config(
        "tasks = -4\n",
        "error: run.toml:1:9: invalid value: integer `-4`, expected a number of tasks",
    );
    refuses_config(
        "\n  passes = 2\n",
        "error: run.toml:2:3: unknown field `passes`, expected one of `tasks`",
    );
    refuses_config(
        "[stream]\norder = \"shufle\"\n",
        "error: run.toml:2:9: unknown variant `shufle`, expected one of `shuffle`, ",
    );
    refuses_config(
        "[learner.perceptrn]\n",
        "error: run.toml:1:10: unknown variant `perceptrn`, expected one of `perceptron`, ",
    );
    refuses_config(
        "[learner.perceptron]\ninteraction = { coupled = { c = 1 } }\n",
        "error: run.toml:2:29: unknown field `c`, expected `b`",
    );
    refuses_config(
        "[learner.perceptron.interaction.coupled]\nb = -2.0\n",
        "coupled.b: must be a finite number",
    );
}

#[test]
fn a_config_file_that_is_missing_or_no_text_is_refused_by_name() {
    let folder = folder();
    folder
        .refused("learn a.svm --quiet --config gone.toml", &["error: gone.toml: No such file or directory"]);
    folder.write("binary.toml", b"tasks = 4 # \xff\n");
    folder.refused("learn a.svm --quiet --config binary.toml", &["error: binary.toml: ", "valid UTF-8"]);
}

#[test]
fn more_tasks_or_features_than_declared_are_refused_in_their_place() {
    let folder = Folder::with("a.svm", "+1 qid:1 1:1\n-1 qid:2 9:1\n");
    folder.refused(
        "learn a.svm --quiet --tasks 1",
        &[
            "error: a.svm:2:4: task 2 is not one of the 1 declared tasks (1)",
            "hint: name them all with --tasks, or leave --tasks out",
        ],
    );
    folder.refused(
        "learn a.svm --quiet --tasks one,two",
        &["error: a.svm:1:4: task 1 is not one of the 2 declared tasks (one, two)"],
    );
    folder.refused(
        "learn a.svm --quiet --features 8",
        &["error: a.svm:2:10: found feature index 9; expected 1 to 8"],
    );
}

#[test]
fn a_stream_that_is_not_simultaneous_is_refused_with_a_way_out() {
    let hint = "hint: drop --simultaneous to learn one example per round, or regroup with --order interleave";
    let folder = Folder::with("a.svm", "+1 qid:1 1:1\n+1 qid:2 1:1\n-1 qid:1 1:1\n-1 qid:1 1:1\n");
    folder.refused(
        "learn a.svm --quiet --simultaneous",
        &["error: a.svm:4: round 2 has task 1 twice and lacks 2; a simultaneous stream has one example of every task per round", hint],
    );
    folder.write("b.svm", "+1 qid:1 1:1\n+1 qid:2 1:1\n-1 qid:1 1:1\n");
    folder.refused(
        "learn b.svm --quiet --simultaneous",
        &["error: b.svm: round 2 ends after 1 of 2 tasks and lacks 2; ", hint],
    );
    folder.refused(
        "learn b.svm --quiet --simultaneous --order interleave",
        &["task 2 has 1 examples but task 1 has 2; a simultaneous stream needs equally many of each"],
    );
}
