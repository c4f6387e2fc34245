//! Margins of many dense rows: the weights of every task are laid out once, and a row is one inner product.
//!
//! They differ from those of the same rows one by one in the last digits: sums are taken in another order.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use super::Model;
use crate::example::{BIAS_FEATURE, LARGEST_VALUE, TaskId};
use crate::fit::Kind;
use crate::stream::{Normalize, RowTasks, Table, Values};

/// Rows between two questions whether to go on.
const BLOCK: usize = 256;

/// The columns of a table that are features, densely.
enum Layout<'a> {
    Rows { values: Values<'a>, columns: usize },
    Columns { columns: Vec<(u32, Values<'a>)>, missing: bool },
}

impl Model {
    /// Margins of the rows of a dense table, until `go_on` breaks; none where rows have to be looked at one by one: they are
    /// few, sparse, or scaled, one is bad, or no weights give the learner's margins.
    pub fn dense_margins(
        &self,
        table: &Table<'_>,
        tasks: &RowTasks,
        go_on: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Option<Vec<f64>> {
        let layout = self.layout(table)?;
        let (rows, width) = (table.rows(), table.columns());
        let slots = self.slots(tasks, rows, width)?;
        let weights = self.laid_out(&layout, width, &slots.tasks)?;
        let mut margins = vec![0.0; rows];
        for (block, margins) in margins.chunks_mut(BLOCK).enumerate() {
            let first = block * BLOCK;
            let of_row = |at: usize| &weights[slots.of(first + at) * (width + 1)..][..=width];
            let valid = match &layout {
                Layout::Rows { values: Values::F64(values), columns } => {
                    row_by_row(&values[first * columns..], *columns, margins, &of_row)
                }
                Layout::Rows { values: Values::F32(values), columns } => {
                    row_by_row(&values[first * columns..], *columns, margins, &of_row)
                }
                Layout::Columns { columns, missing } => {
                    column_by_column(columns, *missing, first, margins, &of_row)
                }
            };
            if !valid || !margins.iter().all(|margin| margin.is_finite()) {
                return None;
            }
            if go_on().is_break() {
                break;
            }
        }
        Some(margins)
    }

    fn layout<'a>(&self, table: &Table<'a>) -> Option<Layout<'a>> {
        // What is predicted of real labels is cut to where labels have been.
        if self.config.learner.kind() == Kind::Regression {
            return None;
        }
        let scaled =
            self.config.preprocess.normalize != Normalize::None || self.config.preprocess.clip.is_some();
        let declared = self.config.features.map_or(usize::MAX, |features| features as usize);
        if scaled || (!matches!(table, Table::Named(_)) && (self.has_names() || table.columns() > declared)) {
            return None;
        }
        match table {
            Table::Rows { values, rows, columns } if values.len() == rows * columns => {
                Some(Layout::Rows { values: *values, columns: *columns })
            }
            Table::Columns { columns, rows } if columns.iter().all(|column| column.len() == *rows) => {
                let columns = (0..).zip(columns.iter().copied()).collect();
                Some(Layout::Columns { columns, missing: false })
            }
            Table::Named(frame) => Some(Layout::Columns { columns: frame.numbers()?, missing: true }),
            _ => None,
        }
    }

    /// The tasks of the rows, each once; none if laying out their weights would cost more than it saves.
    fn slots(&self, tasks: &RowTasks, rows: usize, width: usize) -> Option<Slots> {
        let mut slot_of = BTreeMap::new();
        let most = rows / 8;
        let mut found = Vec::new();
        let ids = tasks.ids();
        let mut slots = Vec::with_capacity(if ids.len() == 1 { 0 } else { rows });
        for id in ids {
            // The weights of a task that is new are those of a task that never comes.
            if id.index() >= self.tasks.len() {
                return None;
            }
            let slot = *slot_of.entry(*id).or_insert_with(|| {
                found.push(*id);
                found.len() - 1
            });
            if found.len() > most || found.len() * width > LARGEST {
                return None;
            }
            if ids.len() > 1 {
                slots.push(slot as u32);
            }
        }
        Some(Slots { tasks: found, slots })
    }

    /// The weights of tasks, one row of columns and the constant each.
    fn laid_out(&self, layout: &Layout<'_>, width: usize, tasks: &[TaskId]) -> Option<Vec<f64>> {
        let export = self.export().ok()?;
        let column_of: Box<dyn Fn(u32) -> Option<usize>> = match layout {
            Layout::Rows { .. } => Box::new(|feature| Some(feature as usize).filter(|at| *at < width)),
            Layout::Columns { columns, .. } => {
                Box::new(|feature| columns.binary_search_by_key(&feature, |(feature, _)| *feature).ok())
            }
        };
        let place = |feature: u32| if feature == BIAS_FEATURE { Some(width) } else { column_of(feature) };
        let dense = |weights: &[(u32, f64)]| {
            let mut row = vec![0.0; width + 1];
            weights.iter().for_each(|(feature, weight)| {
                if let Some(at) = place(*feature) {
                    row[at] = *weight;
                }
            });
            row
        };
        let shared: Vec<Vec<f64>> = export.shared().iter().map(|vector| dense(&vector.weights)).collect();
        let mut all = Vec::with_capacity(tasks.len() * (width + 1));
        for task in tasks {
            let weights = export.task(*task);
            let mut row = dense(&weights.own);
            for (factor, shared) in weights.factors.iter().zip(&shared) {
                row.iter_mut().zip(shared).for_each(|(weight, shared)| *weight += factor * shared);
            }
            all.extend(row);
        }
        Some(all)
    }
}

/// Most weights that are laid out.
const LARGEST: usize = 1 << 24;

struct Slots {
    tasks: Vec<TaskId>,
    /// Of every row, unless all are of one task.
    slots: Vec<u32>,
}

impl Slots {
    fn of(&self, row: usize) -> usize {
        self.slots.get(row).map_or(0, |slot| *slot as usize)
    }
}

fn row_by_row<'w, V: Copy + Into<f64>>(
    values: &[V],
    columns: usize,
    margins: &mut [f64],
    weights: &dyn Fn(usize) -> &'w [f64],
) -> bool {
    let mut valid = true;
    for (at, margin) in margins.iter_mut().enumerate() {
        let (row, weights) = (&values[at * columns..(at + 1) * columns], weights(at));
        let (mut sums, mut largest) = ([0.0; 4], [0.0_f64; 4]);
        let (quads, rest) = row.as_chunks::<4>();
        let (of_quads, of_rest) = weights[..columns].as_chunks::<4>();
        for (quad, of_quad) in quads.iter().zip(of_quads) {
            for lane in 0..4 {
                let value: f64 = quad[lane].into();
                sums[lane] += value * of_quad[lane];
                largest[lane] = largest[lane].max(value.abs());
            }
        }
        let mut sum = weights[columns] + ((sums[0] + sums[1]) + (sums[2] + sums[3]));
        for (value, weight) in rest.iter().zip(of_rest) {
            let value: f64 = (*value).into();
            sum += value * weight;
            largest[0] = largest[0].max(value.abs());
        }
        // A value that is not finite makes the sum such a one: `max` passes NaN over, the sum does not.
        valid &= largest.iter().all(|value| *value <= LARGEST_VALUE);
        *margin = sum;
    }
    valid
}

fn column_by_column<'w>(
    columns: &[(u32, Values<'_>)],
    missing: bool,
    first: usize,
    margins: &mut [f64],
    weights: &dyn Fn(usize) -> &'w [f64],
) -> bool {
    let rows: Vec<&[f64]> = (0..margins.len()).map(weights).collect();
    margins.iter_mut().zip(&rows).for_each(|(margin, weights)| *margin = weights[columns.len()]);
    let mut valid = true;
    for (at, (_, values)) in columns.iter().enumerate() {
        for (row, margin) in margins.iter_mut().enumerate() {
            let value = values.get(first + row);
            let value = if missing && value.is_nan() { 0.0 } else { value };
            valid &= value.abs() <= LARGEST_VALUE;
            *margin += value * rows[row][at];
        }
    }
    valid
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;
    use crate::RunConfig;
    use crate::stream::Stream as _;

    fn config(json: &str) -> RunConfig {
        serde_json::from_str(json).unwrap()
    }

    /// Rows of every layout have the margins that they have one by one, but for rounding.
    #[test]
    fn dense_rows_have_the_margins_that_they_have_one_by_one() {
        let rows = 400;
        let values: Vec<f64> = (0..rows * 5).map(|at| ((at * 37 % 101) as f64 - 50.0) / 20.0).collect();
        let labels: Vec<f64> =
            values.chunks(5).map(|row| if row[0] + row[3] > 0.2 { 1.0 } else { -1.0 }).collect();
        let by_column: Vec<Vec<f64>> =
            (0..5).map(|column| values.chunks(5).map(|row| row[column]).collect()).collect();
        for json in ["{}", r#"{"stream": {"bias": 2.0}}"#, r#"{"learner": "rom-rda"}"#] {
            let mut model = Model::new(&config(json)).unwrap();
            let mut tasks = RowTasks::new(model.tasks());
            (0..rows).for_each(|row| tasks.push(model.tasks(), ["a", "b", "c"][row % 3]).unwrap());
            let table = Table::Rows { values: Values::F64(&values), rows, columns: 5 };
            let stream = model.table(&table, &tasks).unwrap();
            let mut stream = stream.labelled(Values::F64(&labels), crate::stream::Labels::Required).unwrap();
            model.learn(&mut stream, &crate::RunOptions::default(), &mut ()).unwrap();
            stream.rewind().unwrap();
            let mut tasks = RowTasks::new(model.tasks());
            (0..rows).for_each(|row| tasks.push(model.tasks(), ["a", "b", "c"][row % 3]).unwrap());
            let columns = by_column.iter().map(|column| Values::F64(column)).collect();
            for table in [table, Table::Columns { columns, rows }] {
                let found = model.dense_margins(&table, &tasks, &mut || ControlFlow::Continue(())).unwrap();
                for (row, found) in found.iter().enumerate() {
                    let pairs: Vec<(u32, f64)> =
                        (0..5).map(|column| (column as u32, values[row * 5 + column])).collect();
                    let margin = model.predict_one(["a", "b", "c"][row % 3], &pairs).unwrap().margin;
                    assert!(
                        (found - margin).abs() < 1e-9 * margin.abs().max(1.0),
                        "{json}: {found} {margin}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_is_bad_or_new_is_left_to_others() {
        let mut model = Model::new(&config("{}")).unwrap();
        model.learn_one("a", &[(0, 1.0)], 1.0).unwrap();
        let mut known = RowTasks::new(model.tasks());
        known.push(model.tasks(), "a").unwrap();
        let mut new = RowTasks::new(model.tasks());
        new.push(model.tasks(), "b").unwrap();
        let go_on = &mut || ControlFlow::Continue(());
        let mut found = |value: f64, tasks: &RowTasks| {
            let values: Vec<f64> = (0..100).map(|row| if row == 70 { value } else { 1.0 }).collect();
            let table = Table::Rows { values: Values::F64(&values), rows: 100, columns: 1 };
            model.dense_margins(&table, tasks, go_on).is_some()
        };
        assert!(found(2.0, &known));
        assert!(!found(2.0, &new));
        for bad in [f64::NAN, f64::INFINITY, 1e200] {
            assert!(!found(bad, &known), "{bad}");
        }
    }
}
