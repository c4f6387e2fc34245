//! What is asked: examples as each server wants them, made before the clock runs.

use std::fmt::Write as _;

use crate::measure::bench::random::{Draws, normal_of};

/// Non-zeros of an example.
const NONZEROS: usize = 32;
const FEATURES: u64 = 1 << 14;
const TASKS: u64 = 1000;
const SEED: u64 = 7;
/// Rank at which a feature carries half the signal of the most frequent one.
const RARE: f64 = 200.0;
/// Digits that a stamp writes.
const DIGITS: usize = 6;
/// What stands where a stamp will be.
const UNSTAMPED: &str = "000000";

/// How requests are written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Form {
    /// `{"examples": […]}`
    Json,
    /// One example a line
    Lines,
    /// Vowpal Wabbit's lines, without HTTP
    VowpalWabbit,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Verb {
    Learn,
    Predict,
}

/// A request as it is sent, with places where a number makes its examples differ from those sent before.
pub(super) struct Request {
    pub(super) bytes: Vec<u8>,
    marks: Vec<usize>,
}

impl Request {
    /// Writes a number into every example: a learner that knows examples again is not to know these.
    pub(super) fn stamp(&self, number: u64, out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(&self.bytes);
        let mut digits = [b'0'; DIGITS];
        for &mark in &self.marks {
            let mut rest = number;
            for digit in digits.iter_mut().rev() {
                *digit = b'0' + (rest % 10) as u8;
                rest /= 10;
            }
            out[mark..mark + DIGITS].copy_from_slice(&digits);
        }
    }
}

/// An example: features in order of their numbers.
struct Example {
    task: u64,
    features: Vec<(u64, f32)>,
    positive: bool,
}

impl Example {
    fn draw(row: u64) -> Self {
        let mut draws = Draws::new(SEED, row);
        let task = draws.below(TASKS);
        let mut features: Vec<(u64, f32)> = Vec::with_capacity(NONZEROS);
        while features.len() < NONZEROS {
            // Frequencies follow a power law.
            let feature = (FEATURES as f64).powf(draws.uniform()) as u64 - 1;
            if features.iter().all(|(known, _)| *known != feature) {
                features.push((feature, draws.normal() / (NONZEROS as f32).sqrt()));
            }
        }
        features.sort_unstable_by_key(|(feature, _)| *feature);
        let score: f32 = features.iter().map(|&(feature, value)| value * weight(task, feature)).sum();
        Self { task, features, positive: score > 0.0 }
    }

    fn label(&self) -> &'static str {
        if self.positive { "1" } else { "-1" }
    }

    /// Writes the example; `0.` of one more feature is the place of a stamp.
    fn write(&self, form: Form, verb: Verb, out: &mut String, marks: &mut Vec<usize>) {
        if form == Form::VowpalWabbit {
            if verb == Verb::Learn {
                out.push_str(self.label());
            }
            write!(out, " |t u{} |f", self.task).expect("memory");
            for (feature, value) in &self.features {
                write!(out, " f{feature}:{value:.4}").expect("memory");
            }
            out.push_str(" stamp:0.");
            marks.push(out.len());
            writeln!(out, "{UNSTAMPED}").expect("memory");
            return;
        }
        write!(out, "{{\"task\":\"u{}\",\"features\":{{", self.task).expect("memory");
        for (feature, value) in &self.features {
            write!(out, "\"f{feature}\":{value:.4},").expect("memory");
        }
        out.push_str("\"stamp\":0.");
        marks.push(out.len());
        write!(out, "{UNSTAMPED}}}").expect("memory");
        if verb == Verb::Learn {
            write!(out, ",\"label\":{}", self.label()).expect("memory");
        }
        out.push('}');
    }
}

/// A weight of the truth: shared by all tasks, and half as much of the task's own.
fn weight(task: u64, feature: u64) -> f32 {
    let signal = (1.0 / (1.0 + feature as f64 / RARE)).sqrt() as f32;
    signal * (normal_of(feature) + 0.5 * normal_of((task + 1) * FEATURES + feature))
}

/// So many requests of so many examples each; `first` is the number of the first example.
pub(super) fn requests(form: Form, verb: Verb, count: u64, examples: u64, first: u64) -> Vec<Request> {
    (0..count).map(|at| request(form, verb, first + at * examples, examples)).collect()
}

fn request(form: Form, verb: Verb, first: u64, examples: u64) -> Request {
    let (mut body, mut marks) = (String::new(), Vec::new());
    if form == Form::Json {
        body.push_str("{\"examples\":[");
    }
    for row in first..first + examples {
        if form == Form::Json && row > first {
            body.push(',');
        }
        Example::draw(row).write(form, verb, &mut body, &mut marks);
        if form == Form::Lines {
            body.push('\n');
        }
    }
    if form == Form::Json {
        body.push_str("]}");
    }
    if form == Form::VowpalWabbit {
        return Request { bytes: body.into_bytes(), marks };
    }
    let path = if verb == Verb::Learn { "learn" } else { "predict" };
    let kind = if form == Form::Json { "application/json" } else { "application/x-ndjson" };
    let head = format!(
        "POST /v1/models/default/{path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    marks.iter_mut().for_each(|mark| *mark += head.len());
    Request { bytes: [head.into_bytes(), body.into_bytes()].concat(), marks }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_changes_every_example_and_keeps_the_body_whole() {
        for form in [Form::Json, Form::Lines] {
            let request = &requests(form, Verb::Learn, 2, 3, 10)[1];
            let mut sent = Vec::new();
            request.stamp(1_234_567, &mut sent);
            let text = String::from_utf8(sent).unwrap();
            assert_eq!(text.matches("\"stamp\":0.234567}").count(), 3, "{text}");
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            assert!(head.ends_with(&format!("content-length: {}", body.len())), "{head}");
            let first: serde_json::Value = match form {
                Form::Json => serde_json::from_str::<serde_json::Value>(body).unwrap()["examples"][0].clone(),
                _ => serde_json::from_str(body.lines().next().unwrap()).unwrap(),
            };
            assert_eq!(first["features"].as_object().unwrap().len(), NONZEROS + 1);
        }
    }

    #[test]
    fn vowpal_wabbit_reads_a_line_per_example() {
        let request = &requests(Form::VowpalWabbit, Verb::Predict, 1, 2, 0)[0];
        let text = String::from_utf8(request.bytes.clone()).unwrap();
        assert_eq!(text.lines().count(), 2);
        assert!(text.lines().all(|line| line.starts_with(" |t u") && line.ends_with(" stamp:0.000000")));
    }
}
