//! Columns of CSV hold numbers or texts, and what one holds is remembered: across files, in the model, in every command.

use super::support::Folder;

const NUMBERS: &str = "label,task,x\n1,a,2\n0,b,3\n1,b,1\n";
const TEXTS: &str = "label,task,x\n1,a,two\n0,b,three\n1,b,one\n";
const OF_NUMBERS: &str = r#"in column "x"; expected a number, as in what was read before this file"#;
const OF_TEXTS: &str = r#"in column "x"; expected a text, as in what was read before this file"#;

fn folder() -> Folder {
    let folder = Folder::with("numbers.csv", NUMBERS);
    folder.write("texts.csv", TEXTS);
    folder
}

#[test]
fn a_second_file_does_not_reinterpret_a_column() {
    let folder = folder();
    for flags in ["", "--bits 10", "--bits 10 --no-names", "--order shuffle", "--threads 1"] {
        let learn = |files: &str| format!("learn {files} --format csv --quiet {flags}");
        folder
            .refused(&learn("numbers.csv texts.csv"), &[r#"error: texts.csv:2:5: found "two""#, OF_NUMBERS]);
        folder.refused(&learn("texts.csv numbers.csv"), &[r#"error: numbers.csv:2:5: found "2""#, OF_TEXTS]);
        folder.output(&learn("texts.csv texts.csv"));
    }
    folder.refused("fit numbers.csv texts.csv --format csv --quiet", &["error: texts.csv:2:5: ", OF_NUMBERS]);
    folder.refused(
        "compare texts.csv numbers.csv --format csv --quiet",
        &["error: numbers.csv:2:5: ", OF_TEXTS],
    );
}

#[test]
fn a_model_remembers_what_a_column_holds() {
    let folder = folder();
    for learn in [
        "learn numbers.csv --format csv",
        "learn numbers.csv --format csv --order shuffle",
        "learn numbers.csv --format csv --bits 10 --no-names",
        "learn numbers.csv --format csv --passes 2",
        "fit numbers.csv --format csv",
    ] {
        folder.output(&format!("{learn} --quiet --overwrite --model m.cog"));
        let message = [r#"error: texts.csv:2:5: found "two""#, OF_NUMBERS, "hint: ", "--categorical"];
        let ran = folder.run("predict texts.csv --model m.cog");
        assert_eq!(ran.code, Some(2), "{learn}: {ran:?}");
        message.iter().for_each(|part| assert!(ran.stderr.contains(part), "{learn}: {}", ran.stderr));
        folder.output("predict numbers.csv --model m.cog");
        if learn.starts_with("learn") {
            folder.refused("learn texts.csv --quiet --resume m.cog", &message);
            folder.output("learn numbers.csv --quiet --resume m.cog");
        }
    }
    folder.output("learn texts.csv --format csv --quiet --overwrite --model m.cog");
    folder.refused("learn numbers.csv --quiet --resume m.cog", &[OF_TEXTS]);
}

#[test]
fn a_value_that_contradicts_is_a_bad_line_like_others() {
    let folder = folder();
    folder.output("learn numbers.csv --format csv --quiet --model m.cog");
    folder.write("mixed.csv", "label,task,x\n1,a,5\n0,a,six\n1,b,7\n");
    let ran = folder.run("learn mixed.csv --resume m.cog --skip-bad 1 --quiet --json");
    ran.assert_done();
    assert!(
        ran.stdout.contains("\"skipped\": 1") && ran.stdout.contains("\"run_examples\": 2"),
        "{}",
        ran.stdout
    );
}

#[test]
fn what_an_empty_column_holds_is_decided_by_the_first_cell_that_comes() {
    let folder = Folder::with("empty.csv", "label,task,x\n1,a,\n0,b,\n");
    folder.write("numbers.csv", NUMBERS);
    folder.write("texts.csv", TEXTS);
    folder.output("learn empty.csv --format csv --quiet --model m.cog");
    folder.output("predict texts.csv --model m.cog");
    folder.output("learn numbers.csv --quiet --resume m.cog --model m.cog");
    folder.refused("learn texts.csv --quiet --resume m.cog", &[OF_NUMBERS]);
}

#[test]
fn categorical_columns_hold_texts_whatever_they_look_like() {
    let folder = folder();
    folder.output("learn numbers.csv texts.csv --format csv --categorical x --quiet --model m.cog");
    folder.output("predict numbers.csv --model m.cog");
}

#[test]
fn a_resumed_run_of_csv_equals_the_unbroken_one() {
    let folder = folder();
    folder.write("more.csv", "label,task,y,x\n1,a,red,2\n0,b,,3\n");
    folder.output("learn numbers.csv more.csv --format csv --quiet --model all.cog");
    folder.output("learn numbers.csv --format csv --quiet --model m.cog");
    folder.output("learn more.csv --quiet --resume m.cog --model m.cog");
    assert_eq!(folder.read("m.cog"), folder.read("all.cog"));
}

#[test]
fn an_empty_tag_is_an_empty_task_and_bad() {
    let folder = Folder::with("a.vw", "1 a|f x\n-1 '|f x\n");
    let message = [r#"error: a.vw:2:4: found ""; expected the name of a task"#];
    folder.refused("learn a.vw --format vw --quiet", &message);
    folder.refused("learn a.vw --format vw --one-vs-all --quiet", &["found task \"a\""]);
    // Where a namespace names the task, tags are ignored; and no tag at all is the task `default`.
    folder.write("b.vw", "1 '|t a |f x\n-1 |t b |f x\n");
    folder.output("learn b.vw --format vw --task-namespace t --quiet");
    folder.write("c.vw", "1 |f x\n-1 |f y\n");
    folder.output("learn c.vw --format vw --quiet");
}

/// What `predict` says of other columns, `learn --resume` says too.
#[test]
fn a_resumed_run_says_which_columns_are_other_ones() {
    let folder = Folder::with("a.csv", "task,label,x,y\na,1,1,2\na,0,-1,1\n");
    folder.output("learn a.csv --quiet --model m.cog");
    let before = folder.read("m.cog");
    folder.write("renamed.csv", "task,label,x,why\na,1,1,2\n");
    let missing = "columns of the model are missing: y";
    let new = "columns are new to the model: why";
    for order in ["", " --order shuffle"] {
        let ran = folder.run(&format!("learn renamed.csv --resume m.cog --quiet{order}"));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        for line in [missing, new] {
            assert!(ran.stderr.contains(&format!("warning: {line}\n")), "{}", ran.stderr);
        }
    }
    let summary = folder.summary("renamed.csv --resume m.cog");
    let notes = summary["notes"].to_string();
    assert!(notes.contains(missing) && notes.contains(new), "{notes}");
    let same = folder.run("learn a.csv --resume m.cog --quiet");
    assert!(!same.stderr.contains("columns"), "{}", same.stderr);
    // Nothing is known where the columns are separated otherwise, or all have other names.
    folder.write("semicolons.csv", "task;label;x;y\na;1;1;2\n");
    folder.refused(
        "learn semicolons.csv --resume m.cog --model m.cog",
        &["no column is called", "hint: something else than a comma seems to separate the columns"],
    );
    folder.write("others.csv", "task,label,p,q\na,1,1,2\n");
    folder.refused(
        "learn others.csv --resume m.cog --model m.cog",
        &["others.csv:1:1: no column is one that the model knows (x, y); the header has (task, label, p, q)"],
    );
    assert_eq!(folder.read("m.cog"), before, "the model is as it was");
}

#[test]
fn the_hint_of_a_missing_column_names_its_flag() {
    let folder = Folder::with("a.csv", "label,x\n1,1\n");
    for (flag, hint) in [
        ("--weight-column w", "hint: --weight-column is spelt as in the header"),
        ("--id-column w", "hint: --id-column is spelt as in the header"),
        ("--time-column w", "hint: --time-column is spelt as in the header"),
        ("--offset-column w", "hint: --offset-column is spelt as in the header"),
        ("--ignore w", "hint: names of --ignore are spelt as in the header"),
        ("--categorical w", "hint: names of --categorical are spelt as in the header"),
        ("--task-column w", "hint: --label-column and --task-column name the columns"),
    ] {
        folder.refused(&format!("learn a.csv --quiet {flag}"), &["no column is called \"w\"", hint]);
    }
}
