//! Tables in someone else's memory and examples given one by one: the same rows as a stream, or refused as a whole.

use cognate::internal::generator;
use cognate::run::RunOptions;
use cognate::stream::{
    Batch, FeatureValue, Features, Indices, Labels, Memory, RowTasks, Table, TableError, Values,
};
use cognate::{Example, Model, RunConfig, Stream, TaskId};
use rand::RngExt as _;

/// Three rows: tasks 7, b, 7.
const STARTS: [i32; 4] = [0, 2, 3, 5];
const INDICES: [i32; 5] = [0, 2, 1, 0, 1];
const VALUES: [f64; 5] = [1.0, -0.5, 2.0, 0.25, 4.0];
const DENSE: [f64; 9] = [1.0, 0.0, -0.5, 0.0, 2.0, 0.0, 0.25, 4.0, 0.0];
const LABELS: [f64; 3] = [1.0, -1.0, -1.0];

fn model(json: &str) -> Model {
    Model::new(&serde_json::from_str::<RunConfig>(json).unwrap()).unwrap()
}

fn sparse<'a>(starts: &'a [i32], indices: &'a [i32], values: &'a [f64]) -> Table<'a> {
    Table::Sparse {
        starts: Indices::I32(starts),
        indices: Indices::I32(indices),
        values: Values::F64(values),
        columns: 3,
    }
}

fn tasks_of(model: &Model) -> RowTasks {
    let mut tasks = RowTasks::new(model.tasks());
    tasks.push_number(model.tasks(), 7).unwrap();
    tasks.push(model.tasks(), "b").unwrap();
    tasks.push(model.tasks(), "7").unwrap();
    tasks
}

/// A model after learning a table: its bytes and its tasks.
fn learnt(table: &Table<'_>, order: Option<&[i64]>) -> (Vec<u8>, Vec<String>) {
    let mut model = model(r#"{"stream": {"normalize": "l2"}}"#);
    let tasks = tasks_of(&model);
    table.check(None).unwrap();
    let stream = model.table(table, &tasks).unwrap();
    let mut stream = stream.labelled(Values::F64(&LABELS), Labels::Required).unwrap();
    if let Some(order) = order {
        stream = stream.ordered(order).unwrap();
    }
    model.learn(&mut stream, &RunOptions::default(), &mut ()).unwrap();
    (model.to_bytes(), model.tasks().names().map(str::to_owned).collect())
}

#[test]
fn every_layout_is_the_same_rows_as_a_stream() {
    let mut memory = Memory::new();
    let mut fresh = model(r#"{"stream": {"normalize": "l2"}}"#);
    let mut scaled = Batch::default();
    let (tasks, table) = (tasks_of(&fresh), sparse(&STARTS, &INDICES, &VALUES));
    fresh.table(&table, &tasks).unwrap().fill(&mut scaled).unwrap();
    for (at, name) in ["7", "b", "7"].into_iter().enumerate() {
        let Example { features, .. } = scaled.example(at);
        memory.push(name, Example::new(TaskId(0), features, LABELS[at]));
    }
    fresh.learn(&mut memory, &RunOptions::default(), &mut ()).unwrap();
    let (starts, indices) = (STARTS.map(i64::from), INDICES.map(i64::from));
    let (values, dense) = (VALUES.map(|value| value as f32), DENSE.map(|value| value as f32));
    let columns: Vec<Vec<f64>> =
        (0..3).map(|column| (0..3).map(|row| DENSE[3 * row + column]).collect()).collect();
    for table in [
        table,
        Table::Sparse {
            starts: Indices::I64(&starts),
            indices: Indices::I64(&indices),
            values: Values::F32(&values),
            columns: 3,
        },
        Table::Rows { values: Values::F64(&DENSE), rows: 3, columns: 3 },
        Table::Rows { values: Values::F32(&dense), rows: 3, columns: 3 },
        Table::Columns { columns: columns.iter().map(|column| Values::F64(column)).collect(), rows: 3 },
    ] {
        assert_eq!((table.rows(), table.columns()), (3, 3));
        assert!(learnt(&table, None).0 == fresh.to_bytes(), "{table:?}");
    }
}

#[test]
fn tasks_are_met_in_the_order_in_which_rows_come_out() {
    let table = sparse(&STARTS, &INDICES, &VALUES);
    assert_eq!(learnt(&table, None).1, ["7", "b"]);
    assert_eq!(learnt(&table, Some(&[1, 0, 2])).1, ["b", "7"]);
    let (model, table) = (model("{}"), sparse(&STARTS, &INDICES, &VALUES));
    let tasks = tasks_of(&model);
    let ordered = model.table(&table, &tasks).unwrap().ordered(&[0, 3]);
    assert!(matches!(ordered.unwrap_err(), TableError::Index { index: 3, largest: 2, .. }));
}

#[test]
fn a_bad_table_is_told_with_its_place() {
    let nan = [1.0, f64::NAN, 2.0, 0.25, 4.0];
    for (starts, indices, values, features, message) in [
        (&[0, 2, 6, 5][..], INDICES, VALUES, None, "row 2 begins at entry 6; expected 2 to 5"),
        (&[0, 2, 1, 5], INDICES, VALUES, None, "row 2 begins at entry 1; expected 2 to 5"),
        (&[1, 2, 3, 5], INDICES, VALUES, None, "row 0 begins at entry 1; expected 0 to 0"),
        (&[], INDICES, VALUES, None, "there are 0 starts of rows; expected 1"),
        (&STARTS, [0, 3, 1, 0, 1], VALUES, None, "row 0: feature index 3; expected 0 to 2"),
        (&STARTS, [0, 2, 1, -1, 1], VALUES, None, "row 2: feature index -1; expected 0 to 2"),
        (&STARTS, [0, 2, 1, 1, 1], VALUES, None, "row 2: feature index 1 after 1; indices must increase"),
        (&STARTS, INDICES, VALUES, Some(2), "row 0: feature index 2; expected 0 to 1"),
        (
            &STARTS,
            INDICES,
            nan,
            None,
            "row 0: found value NaN in column 2; expected a finite number of at most 1e150",
        ),
    ] {
        let error = sparse(starts, &indices, &values).check(features).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
    let dense = Table::Rows { values: Values::F64(&DENSE), rows: 3, columns: 3 };
    assert_eq!(dense.check(Some(2)).unwrap_err().to_string(), "row 0: feature index 2; expected 0 to 1");
    let short = Table::Rows { values: Values::F64(&DENSE), rows: 4, columns: 3 };
    assert_eq!(short.check(None).unwrap_err().to_string(), "there are 9 values; expected 12");
}

#[test]
fn bad_labels_and_tasks_are_told_with_their_row() {
    let (model, table) = (model(r#"{"tasks": ["7", "b"]}"#), sparse(&STARTS, &INDICES, &VALUES));
    let tasks = tasks_of(&model);
    let stream = || model.table(&table, &tasks).unwrap();
    for (labels, message) in [
        (&[1.0, 2.0, 1.0][..], "row 1: found label 2; expected -1 or +1, or 0 or 1"),
        (&[1.0, f64::NAN, 1.0], "row 1: found label NaN; expected -1 or +1, or 0 or 1"),
        (
            &[0.0, 1.0, -1.0],
            "row 2: found label -1 after label 0; a stream has labels -1/+1 or 0/1, not both",
        ),
        (&[1.0], "there are 1 labels; expected 3"),
    ] {
        let error = stream().labelled(Values::F64(labels), Labels::Required).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
    assert!(stream().labelled(Values::F64(&[0.5, -3.0, 0.0]), Labels::Real).is_ok());
    let mut more = tasks.clone();
    assert_eq!(
        more.push(model.tasks(), "c").unwrap_err().to_string(),
        "row 3: task \"c\" is not one of the 2 declared tasks (7, b)"
    );
    assert_eq!(
        more.push(model.tasks(), "").unwrap_err().to_string(),
        "row 3: found \"\"; expected the name of a task"
    );
    more.push(model.tasks(), "b").unwrap();
    let error = model.table(&table, &more).unwrap_err();
    assert_eq!(error.to_string(), "there are 4 tasks; expected 3");
}

const NAMED: &str = r#"{"stream": {"format": "jsonl"}, "learner": "perceptron"}"#;

#[test]
fn rows_by_name_are_learnt_as_they_are_written() {
    let mut model = model(NAMED);
    let mut rows = model.rows();
    let cells = [("price", FeatureValue::Number(0.5)), ("colour", FeatureValue::Text("red"))];
    rows.push(Some("a"), Features::Mixed(&cells), Some(1.0)).unwrap();
    rows.push(None, Features::Nothing, None).unwrap();
    rows.learn(&mut ()).unwrap();
    assert_eq!(model.names().iter().collect::<Vec<_>>(), [("price", 0), ("colour=red", 1)]);
    assert_eq!(model.tasks().names().collect::<Vec<_>>(), ["a", "default"]);
    let counts = (model.metrics().total().examples, model.metrics().unlabelled(), model.rounds());
    assert_eq!(counts, (1, 1, 2));
}

#[test]
fn what_is_predicted_or_refused_leaves_the_model_as_it_was() {
    let mut model = model(r#"{"tasks": 2, "stream": {"format": "jsonl"}}"#);
    let mut rows = model.rows();
    rows.push(Some("a"), Features::Named(&[("x", 2.0)]), Some(1.0)).unwrap();
    rows.learn(&mut ()).unwrap();
    let before = model.to_bytes();

    let unknown = Features::Named(&[("x", 1.0), ("y", 1.0)]);
    model.predict_row(Some("never seen"), unknown).unwrap();
    model.predict_row(Some("a"), unknown).unwrap();
    assert!(model.to_bytes() == before);

    let mut rows = model.rows();
    let mut refused = |task: &str, features: Features<'_>, label: f64| {
        rows.push(Some(task), features, Some(label)).unwrap_err().to_string()
    };
    assert!(refused("a", Features::Named(&[("z", f64::INFINITY)]), 1.0).starts_with("row 0: "));
    assert!(refused("a", unknown, 0.5).contains("found label 0.5"));
    assert!(refused("", unknown, 1.0).contains("expected the name of a task"));
    assert_eq!(
        refused("a", Features::Numbered(&[(0, 1.0)]), 1.0),
        "row 0: features are given by number; those of this model have names"
    );
    drop(rows);
    assert!(model.to_bytes() == before);

    let mut rows = model.rows();
    rows.push(Some("b"), unknown, Some(1.0)).unwrap();
    let late = rows.push(Some("c"), Features::Named(&[("w", 1.0)]), Some(1.0));
    assert_eq!(late.unwrap_err().to_string(), "row 1: task \"c\" is not one of the 2 declared tasks (a, b)");
    drop(rows);
    assert!(model.to_bytes() == before);
}

#[test]
fn rows_by_number_come_in_any_order() {
    // The weights after one example are the example itself.
    let mut model = model(r#"{"features": 5, "learner": {"perceptron": {"interaction": "independent"}}}"#);
    let mut rows = model.rows();
    rows.push(None, Features::Numbered(&[(4, 1.0), (0, 2.0)]), Some(1.0)).unwrap();
    for (pairs, message) in [
        (vec![(5, 1.0)], "row 1: feature index 5; expected 0 to 4"),
        (vec![(1, 1.0), (1, 1.0)], "row 1: feature index 1 after 1; indices must increase"),
        (vec![(1, f64::NAN)], "row 1: found value NaN; expected a finite number of at most 1e150"),
    ] {
        let refused = rows.push(None, Features::Numbered(&pairs), Some(1.0));
        assert_eq!(refused.unwrap_err().to_string(), message);
    }
    let named = rows.push(None, Features::Named(&[("a", 1.0)]), Some(1.0));
    assert_eq!(
        named.unwrap_err().to_string(),
        "row 1: features are given by name; those of this model have numbers"
    );
    rows.learn(&mut ()).unwrap();
    assert_eq!(model.learner().as_inspect().weights(TaskId(0)), [(0, 2.0), (4, 1.0)]);
}

/// Rows that have the features of a row just before are not looked for again, wherever their weights have gone meanwhile.
#[test]
fn rows_that_are_alike_teach_what_they_teach_one_by_one() {
    const ROWS: usize = 1500;
    for (learner, width) in [("adaptive", 20), ("adaptive", 130), ("perceptron", 20), ("adaptive", 3)] {
        let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        let (mut names, mut labels) = (Vec::new(), Vec::new());
        let mut rng = generator(width as u64, 0);
        for row in 0..ROWS {
            let first = values.len();
            // Most rows are dense; some have others beside, new ones among them, or lack some, and two tasks take turns.
            let kind = rng.random_range(0..20);
            let dense = (0..width).filter(|at| kind != 0 || at % 3 == 0);
            let beside = if kind == 1 { vec![200 + i32::try_from(row).unwrap()] } else { Vec::new() };
            for index in dense.chain(beside) {
                indices.push(index);
                values.push(rng.random_range(-1.0..1.0));
            }
            starts.push(i32::try_from(indices.len()).unwrap());
            names.push(if row % 97 < 60 { row % 2 } else { row % 5 });
            labels.push(if values[first] > 0.1 { 1.0 } else { -1.0 });
        }
        let (mut whole, mut single) = (
            model(&format!(r#"{{"learner": "{learner}"}}"#)),
            model(&format!(r#"{{"learner": "{learner}"}}"#)),
        );
        let mut tasks = RowTasks::new(whole.tasks());
        names.iter().for_each(|name| tasks.push(whole.tasks(), &name.to_string()).unwrap());
        let table = Table::Sparse {
            starts: Indices::I32(&starts),
            indices: Indices::I32(&indices),
            values: Values::F64(&values),
            columns: 200 + ROWS,
        };
        let mut stream =
            whole.table(&table, &tasks).unwrap().labelled(Values::F64(&labels), Labels::Required).unwrap();
        whole.learn(&mut stream, &RunOptions::default(), &mut ()).unwrap();
        for (row, (name, label)) in names.iter().zip(&labels).enumerate() {
            let range = starts[row] as usize..starts[row + 1] as usize;
            let features: Vec<(u32, f64)> = indices[range.clone()]
                .iter()
                .map(|at| *at as u32)
                .zip(values[range].iter().copied())
                .collect();
            single.learn_one(&name.to_string(), &features, *label).unwrap();
        }
        assert!(whole.to_bytes() == single.to_bytes(), "{learner} {width}");
    }
}
