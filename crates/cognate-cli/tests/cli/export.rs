//! `cognate export`: do the weights in the file give the margins of the model?

use std::collections::BTreeMap;

use serde_json::Value;

use super::outputs::bash;
use super::support::{Folder, related};

/// w by task and feature, with what is added to every margin.
#[derive(Default)]
struct Weights {
    own: BTreeMap<(String, String), f64>,
    shared: BTreeMap<(String, String), f64>,
    factors: BTreeMap<(String, String), f64>,
}

impl Weights {
    fn margin(&self, task: &str, x: &[(String, f64)]) -> f64 {
        let always_1 = (String::new(), 1.0);
        let dot = |of: &BTreeMap<(String, String), f64>, name: &str| -> f64 {
            let each = x.iter().chain([&always_1]);
            each.map(|(feature, value)| {
                value * of.get(&(name.to_owned(), feature.clone())).copied().unwrap_or(0.0)
            })
            .sum()
        };
        let shared = self.factors.iter().filter(|((of, _), _)| of == task);
        dot(&self.own, task) + shared.map(|((_, name), factor)| factor * dot(&self.shared, name)).sum::<f64>()
    }
}

fn of_csv(text: &str) -> Weights {
    let mut weights = Weights::default();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("task,feature,part,value"));
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        let [task, feature, part, value] = fields[..] else { panic!("{line}") };
        let value = value.parse().unwrap();
        let key = |one: &str, other: &str| (one.to_owned(), other.to_owned());
        match (task, part.strip_prefix("factor ")) {
            ("", None) => weights.shared.insert(key(part, feature), value),
            (_, Some(shared)) => weights.factors.insert(key(task, shared), value),
            _ => weights.own.insert(key(task, feature), value),
        };
    }
    weights
}

fn of_jsonl(text: &str) -> Weights {
    let mut weights = Weights::default();
    let number = |value: &Value| value.as_f64().unwrap();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let (name, into, entries) = match &line["shared"] {
            Value::String(name) => (name, &mut weights.shared, &line["weights"]),
            _ => (&line["task"].as_str().unwrap().to_owned(), &mut weights.own, &line["own"]),
        };
        into.insert((name.clone(), String::new()), number(&line["bias"]));
        for (feature, weight) in entries.as_object().unwrap() {
            into.insert((name.clone(), feature.clone()), number(weight));
        }
        for (shared, factor) in line["factors"].as_object().into_iter().flatten() {
            weights.factors.insert((name.clone(), shared.clone()), number(factor));
        }
    }
    weights
}

/// Reads the format by its definition.
fn of_safetensors(bytes: &[u8]) -> Weights {
    let (length, rest) = bytes.split_at(8);
    let (header, data) = rest.split_at(u64::from_le_bytes(length.try_into().unwrap()) as usize);
    let header: Value = serde_json::from_slice(header).unwrap();
    let tensor = |name: &str, kind: &str| -> Vec<[u8; 8]> {
        let about = &header[name];
        assert_eq!(about["dtype"], kind, "{name}");
        let place = |at: usize| about["data_offsets"][at].as_u64().unwrap() as usize;
        let entries = data[place(0)..place(1)].as_chunks().0.to_vec();
        let shape = about["shape"].as_array().unwrap().iter().map(|size| size.as_u64().unwrap());
        assert_eq!(shape.product::<u64>(), entries.len() as u64, "{name}");
        entries
    };
    let reals = |name: &str| tensor(name, "F64").into_iter().map(f64::from_le_bytes).collect::<Vec<_>>();
    let wholes = |name: &str| tensor(name, "I64").into_iter().map(i64::from_le_bytes).collect::<Vec<_>>();
    let ends = header.as_object().unwrap().iter().filter(|(name, _)| *name != "__metadata__");
    let last = ends.map(|(_, about)| about["data_offsets"][1].as_u64().unwrap()).max();
    assert_eq!(last, Some(data.len() as u64), "no bytes but those of arrays");
    let list = |name: &str| -> Vec<Value> {
        serde_json::from_str(header["__metadata__"][name].as_str().unwrap()).unwrap()
    };
    let texts = |name: &str| -> Vec<String> {
        list(name).iter().map(|name| name.as_str().unwrap().to_owned()).collect()
    };
    let numbers: Vec<i64> = list("features").iter().map(|feature| feature.as_i64().unwrap()).collect();
    let names: BTreeMap<i64, String> = numbers.into_iter().zip(texts("feature_names")).collect();
    let rows = |name: &str, owners: &[String]| {
        let (features, values) = (wholes(&format!("{name}.features")), reals(&format!("{name}.values")));
        let (mut start, mut all) = (0, BTreeMap::new());
        for (owner, end) in owners.iter().zip(wholes(&format!("{name}.ends"))) {
            for at in start..end as usize {
                let feature = names.get(&features[at]).cloned().unwrap_or_default();
                all.insert((owner.clone(), feature), values[at]);
            }
            start = end as usize;
        }
        all
    };
    let (tasks, shared) = (texts("tasks"), texts("shared"));
    let pairs = tasks.iter().flat_map(|task| shared.iter().map(|name| (task.clone(), name.clone())));
    Weights {
        own: rows("own", &tasks),
        shared: rows("shared", &shared),
        factors: pairs.zip(reals("factors")).collect(),
    }
}

/// A task, its features, and the margin that is predicted.
type Predicted = (String, Vec<(String, f64)>, f64);

/// Examples of a file as names and values, and the margins that `predict` gives them.
fn examples(folder: &Folder, model: &str) -> Vec<Predicted> {
    let margins = folder.output(&format!("predict a.svm --model {model} --quiet"));
    let margins = margins.lines().skip(1).map(|line| line.split(',').nth(4).unwrap().parse().unwrap());
    let text = folder.text("a.svm");
    let parsed = text.lines().map(|line| {
        let mut words = line.split_whitespace().skip(1);
        let task = words.next().unwrap().trim_start_matches("qid:").to_owned();
        let pair = |word: &str| {
            let (feature, value) = word.split_once(':').unwrap();
            (feature.to_owned(), value.parse().unwrap())
        };
        (task, words.map(pair).collect())
    });
    parsed.zip(margins).map(|((task, x), margin)| (task, x, margin)).collect()
}

#[test]
fn every_kind_of_file_gives_the_margins() {
    let folder = Folder::with("a.svm", related(3, 400));
    for (learner, more) in [
        ("adaptive", ""),
        ("adaptive", "--set interaction=independent"),
        ("adaptive", "--set interaction.coupled.b=2"),
        ("adaptive", "--set groups=2 --bias=3"),
        ("adaptive", "--set average=true"),
        ("perceptron", "--bias=2"),
        ("perceptron", "--set interaction.coupled.b=auto"),
        ("passive-aggressive", ""),
        ("collaborative", ""),
        ("rom-pgd", ""),
        ("rom-rda", ""),
        ("p-norm-perceptron", ""),
        ("relation-perceptron", "--tasks 3"),
        ("kernel-perceptron", ""),
    ] {
        let run = format!("{learner} {more}");
        folder.output(&format!("learn a.svm --quiet --learner {run} --model m.cog"));
        for end in ["csv", "jsonl", "safetensors"] {
            folder.output(&format!("export m.cog --to w.{end} --overwrite"));
        }
        let all = [
            of_csv(&folder.text("w.csv")),
            of_jsonl(&folder.text("w.jsonl")),
            of_safetensors(&folder.read("w.safetensors")),
        ];
        for (task, x, margin) in examples(&folder, "m.cog") {
            for (kind, weights) in all.iter().enumerate() {
                let made = weights.margin(&task, &x);
                assert!(
                    (made - margin).abs() <= 1e-9 * (1.0 + margin.abs()),
                    "{run} {kind}: {made} {margin}"
                );
            }
        }
        // The next run writes a new file.
        std::fs::remove_file(folder.path("m.cog")).unwrap();
    }
}

#[test]
fn what_has_no_weights_is_refused() {
    let folder = Folder::with("a.svm", related(3, 200));
    folder.output("learn a.svm --quiet --learner kernel-perceptron --set kernel=gaussian --model k.cog");
    folder.refused(
        "export k.cog --to w.csv",
        &[
            "`kernel-perceptron` keeps examples and a kernel, and has no weights to export",
            "hint: ",
            "--supports",
        ],
    );
    folder.output("learn a.svm --quiet --learner second-order-perceptron --model s.cog");
    folder.refused("export s.cog --to w.csv", &["margins of `second-order-perceptron` also depend"]);
    folder.refused("export s.cog --to w.txt", &["--to w.txt: expected a name that ends in .csv, .jsonl or"]);
    folder.refused("export s.cog --to s.cog", &["s.cog"]);
    assert_eq!(folder.names(), ["a.svm", "k.cog", "s.cog"]);
}

#[test]
fn a_file_that_is_there_is_kept_unless_it_may_be_replaced() {
    let folder = Folder::with("a.svm", related(3, 40));
    folder.output("learn a.svm --quiet --model m.cog");
    folder.write("w.csv", "my own\n");
    folder.refused(
        "export m.cog --to w.csv",
        &[
            "error: --to w.csv: the file exists, and what it holds would be lost\n",
            "  hint: --overwrite replaces it; or name another file",
        ],
    );
    assert_eq!(folder.text("w.csv"), "my own\n");
    folder.output("export m.cog --to w.csv --overwrite");
    assert!(folder.text("w.csv").starts_with("task,feature,part,value\n"));
    // An empty file holds nothing.
    folder.write("empty.csv", "");
    folder.output("export m.cog --to empty.csv");
    assert_eq!(folder.text("empty.csv"), folder.text("w.csv"));
}

/// No file can grow beyond 1 kB: what is there stays whole.
#[test]
fn a_disk_that_is_full_keeps_what_was_written_before() {
    let folder = Folder::with("a.svm", related(20, 1000));
    folder.output("learn a.svm --quiet --model m.cog");
    let limited = "trap '' XFSZ; ulimit -f 1; exec $cognate";
    for (line, flag, file) in [
        ("export m.cog --overwrite --to w.csv", "--to", "w.csv"),
        ("export m.cog --overwrite --to w.safetensors", "--to", "w.safetensors"),
        ("learn a.svm --quiet --report r.html", "--report", "r.html"),
        ("compare a.svm --quiet --runs 1 --learners perceptron --report r.html", "--report", "r.html"),
        ("fit a.svm --quiet --report r.html", "--report", "r.html"),
        ("relations m.cog --quiet --svg p.svg", "--svg", "p.svg"),
        ("relations m.cog --quiet --graph p.svg", "--graph", "p.svg"),
        ("demo --quiet --out p.html", "--out", "p.html"),
    ] {
        folder.write(file, "what was there\n");
        let names = folder.names();
        let ran = bash(&folder, &format!("{limited} {line}"));
        ran.assert_refused(&[&format!("error: {flag} {file}: File too large")]);
        assert_eq!(folder.text(file), "what was there\n", "{line}");
        assert_eq!(folder.names(), names, "{line}: no temporary file is left");
        folder.output(line);
        assert!(folder.read(file).len() > 1024, "{line}: the file is large enough to be cut");
        std::fs::remove_file(folder.path(file)).unwrap();
    }
}

#[test]
fn what_is_replaced_keeps_its_mode_and_links_lead_to_it() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder::with("a.svm", related(3, 60));
    folder.output("learn a.svm --quiet --model m.cog");
    folder.write("w.csv", "old\n");
    std::fs::set_permissions(folder.path("w.csv"), std::fs::Permissions::from_mode(0o640)).unwrap();
    symlink("w.csv", folder.path("soft.csv")).unwrap();
    folder.output("export m.cog --overwrite --to soft.csv");
    assert!(folder.text("w.csv").starts_with("task,feature,part,value\n"));
    let mode = std::fs::metadata(folder.path("w.csv")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    assert!(std::fs::symlink_metadata(folder.path("soft.csv")).unwrap().is_symlink());
}
