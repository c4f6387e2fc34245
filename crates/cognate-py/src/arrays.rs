//! NumPy arrays as tables, without copying.

use cognate::stream::{Column, FeatureValue, Features, Frame, Indices, RowTasks, Table, TableError, Values};
use cognate::{StreamError, Tasks};
use numpy::{
    Element, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArray,
    PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::errors::{Raised, data_error};

/// Description of an array, for messages.
fn described(array: &Bound<'_, PyAny>) -> String {
    match array.cast::<PyUntypedArray>() {
        Ok(array) => format!("an array of {} with {} dimensions", array.dtype(), array.ndim()),
        Err(_) => {
            array.get_type().name().map_or_else(|_| "something else".to_owned(), |name| name.to_string())
        }
    }
}

/// One of two kinds of one-dimensional array.
enum Either<'py, A: Element, B: Element> {
    Narrow(PyReadonlyArray1<'py, A>),
    Wide(PyReadonlyArray1<'py, B>),
}

/// A one-dimensional array of one of two types, in one piece.
fn either<'py, A: Element, B: Element>(
    name: &str,
    array: &Bound<'py, PyAny>,
    expected: &str,
) -> PyResult<Either<'py, A, B>> {
    let taken = |error: &dyn std::fmt::Display| data_error(format!("{name}: {error}"));
    let found = if let Ok(narrow) = array.cast::<PyArray1<A>>() {
        Either::Narrow(narrow.try_readonly().map_err(|error| taken(&error))?)
    } else if let Ok(wide) = array.cast::<PyArray1<B>>() {
        Either::Wide(wide.try_readonly().map_err(|error| taken(&error))?)
    } else {
        return Err(data_error(format!(
            "{name}: found {}; expected one dimension of {expected}",
            described(array)
        )));
    };
    let whole = match &found {
        Either::Narrow(array) => array.is_contiguous(),
        Either::Wide(array) => array.is_contiguous(),
    };
    if whole {
        Ok(found)
    } else {
        Err(data_error(format!("{name}: the array is not contiguous; numpy.ascontiguousarray makes it so")))
    }
}

/// An array of whole numbers, held.
pub(crate) struct HeldIndices<'py>(Either<'py, i32, i64>);

impl<'py> HeldIndices<'py> {
    pub(crate) fn new(name: &str, array: &Bound<'py, PyAny>) -> PyResult<Self> {
        either(name, array, "int32 or int64").map(Self)
    }

    pub(crate) fn view(&self) -> PyResult<Indices<'_>> {
        Ok(match &self.0 {
            Either::Narrow(array) => Indices::I32(array.as_slice()?),
            Either::Wide(array) => Indices::I64(array.as_slice()?),
        })
    }
}

/// An array of real numbers, held.
pub(crate) struct HeldValues<'py>(Either<'py, f32, f64>);

impl<'py> HeldValues<'py> {
    pub(crate) fn new(name: &str, array: &Bound<'py, PyAny>) -> PyResult<Self> {
        either(name, array, "float32 or float64").map(Self)
    }

    pub(crate) fn view(&self) -> PyResult<Values<'_>> {
        Ok(match &self.0 {
            Either::Narrow(array) => Values::F32(array.as_slice()?),
            Either::Wide(array) => Values::F64(array.as_slice()?),
        })
    }
}

/// The parts of a table, held while it is used.
pub(crate) enum HeldTable<'py> {
    Sparse { starts: HeldIndices<'py>, indices: HeldIndices<'py>, values: HeldValues<'py>, columns: usize },
    Narrow(PyReadonlyArray2<'py, f32>),
    Wide(PyReadonlyArray2<'py, f64>),
    Columns { columns: Vec<HeldValues<'py>>, rows: usize },
    Named { columns: Vec<(String, HeldColumn<'py>)>, rows: usize },
}

/// A column of a frame, held.
pub(crate) enum HeldColumn<'py> {
    Numbers(HeldValues<'py>),
    Texts { codes: HeldIndices<'py>, texts: Vec<String> },
}

impl<'py> HeldColumn<'py> {
    /// From an array of numbers, or `(codes, texts)`.
    fn new(name: &str, column: &Bound<'py, PyAny>) -> PyResult<Self> {
        let Ok(parts) = column.cast::<PyTuple>() else {
            return HeldValues::new(&format!("column {name:?} of X"), column).map(Self::Numbers);
        };
        let (codes, texts): (Bound<'py, PyAny>, Vec<String>) = parts.extract()?;
        Ok(Self::Texts { codes: HeldIndices::new(&format!("column {name:?} of X"), &codes)?, texts })
    }

    fn view(&self) -> PyResult<Column<'_>> {
        Ok(match self {
            Self::Numbers(values) => Column::Numbers(values.view()?),
            Self::Texts { codes, texts } => Column::Texts { codes: codes.view()?, texts: texts.clone() },
        })
    }
}

impl<'py> HeldTable<'py> {
    /// From `(indptr, indices, data, columns)`, `(names, columns, rows)`, a two-dimensional array, or a list of columns.
    pub(crate) fn new(table: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(parts) = table.cast::<PyTuple>()
            && parts.len() == 3
        {
            let (names, columns, rows): (Vec<String>, Vec<Bound<'py, PyAny>>, usize) = parts.extract()?;
            let held = names.into_iter().zip(columns).map(|(name, column)| {
                let column = HeldColumn::new(&name, &column)?;
                Ok((name, column))
            });
            return Ok(Self::Named { columns: held.collect::<PyResult<_>>()?, rows });
        }
        if let Ok(parts) = table.cast::<PyTuple>() {
            let (starts, indices, values, columns): (
                Bound<'py, PyAny>,
                Bound<'py, PyAny>,
                Bound<'py, PyAny>,
                usize,
            ) = parts.extract()?;
            return Ok(Self::Sparse {
                starts: HeldIndices::new("X.indptr", &starts)?,
                indices: HeldIndices::new("X.indices", &indices)?,
                values: HeldValues::new("X.data", &values)?,
                columns,
            });
        }
        if let Ok(list) = table.cast::<PyList>() {
            let columns = list
                .iter()
                .enumerate()
                .map(|(at, column)| HeldValues::new(&format!("column {at} of X"), &column));
            let columns = columns.collect::<PyResult<Vec<_>>>()?;
            let rows = list.iter().next().map_or(Ok(0), |first| first.len())?;
            return Ok(Self::Columns { columns, rows });
        }
        let taken = |error: &dyn std::fmt::Display| data_error(format!("X: {error}"));
        if let Ok(wide) = table.cast::<PyArray2<f64>>() {
            return Ok(Self::Wide(wide.try_readonly().map_err(|error| taken(&error))?));
        }
        if let Ok(narrow) = table.cast::<PyArray2<f32>>() {
            return Ok(Self::Narrow(narrow.try_readonly().map_err(|error| taken(&error))?));
        }
        let found = described(table);
        Err(data_error(format!("X: found {found}; expected two dimensions of float32 or float64")))
    }

    /// The table; `place` gives columns with names their features.
    pub(crate) fn view<'t>(
        &'t self,
        place: impl FnOnce(Frame<'t>) -> Result<Table<'t>, StreamError>,
    ) -> PyResult<Table<'t>> {
        let whole = |_| data_error("X: the array is not contiguous; numpy.ascontiguousarray makes it so");
        Ok(match self {
            Self::Sparse { starts, indices, values, columns } => Table::Sparse {
                starts: starts.view()?,
                indices: indices.view()?,
                values: values.view()?,
                columns: *columns,
            },
            Self::Narrow(array) => {
                let values = Values::F32(array.as_slice().map_err(whole)?);
                Table::Rows { values, rows: array.shape()[0], columns: array.shape()[1] }
            }
            Self::Wide(array) => {
                let values = Values::F64(array.as_slice().map_err(whole)?);
                Table::Rows { values, rows: array.shape()[0], columns: array.shape()[1] }
            }
            Self::Columns { columns, rows } => Table::Columns {
                columns: columns.iter().map(HeldValues::view).collect::<PyResult<_>>()?,
                rows: *rows,
            },
            Self::Named { columns, rows } => {
                let viewed = columns.iter().map(|(name, column)| Ok((name.clone(), column.view()?)));
                let frame = Frame { columns: viewed.collect::<PyResult<_>>()?, rows: *rows };
                return place(frame).map_err(Raised::raised);
            }
        })
    }
}

impl HeldTable<'_> {
    /// Whether features are columns with names.
    pub(crate) fn has_names(&self) -> bool {
        matches!(self, Self::Named { .. })
    }
}

/// The tasks of rows: none, which stands for `unnamed`, one, an array of numbers, or a list of names and numbers.
pub(crate) fn row_tasks(
    tasks: &Bound<'_, PyAny>,
    known: &Tasks,
    rows: usize,
    unnamed: Option<&str>,
) -> PyResult<RowTasks> {
    let mut found = RowTasks::new(known);
    if tasks.is_none() {
        found.push(known, unnamed.unwrap_or(UNNAMED)).map_err(Raised::raised)?;
        return Ok(found);
    }
    if let Ok(list) = tasks.cast::<PyList>() {
        for (at, task) in list.iter().enumerate() {
            if at % TASKS_BETWEEN == TASKS_BETWEEN - 1 {
                tasks.py().check_signals()?;
            }
            push_task(&mut found, known, &task, Some(at))?;
        }
    } else if tasks.cast::<PyUntypedArray>().is_ok() {
        match HeldIndices::new("tasks", tasks)?.view()? {
            Indices::I32(numbers) => {
                numbers.iter().try_for_each(|number| push_number(&mut found, known, i64::from(*number)))?;
            }
            Indices::I64(numbers) => {
                numbers.iter().try_for_each(|number| push_number(&mut found, known, *number))?;
            }
        }
    } else {
        push_task(&mut found, known, tasks, None)?;
        return Ok(found);
    }
    // A list of one task is not one task for all rows.
    if found.len() == rows {
        Ok(found)
    } else {
        Err(TableError::Length { what: "tasks", found: found.len(), expected: rows }.raised())
    }
}

/// Tasks that are looked up between two looks for signals.
const TASKS_BETWEEN: usize = 1 << 16;

/// Name of the task of examples that name none, as in files.
const UNNAMED: &str = "default";

fn push_number(tasks: &mut RowTasks, known: &Tasks, number: i64) -> PyResult<()> {
    let pushed = match u32::try_from(number) {
        Ok(number) => tasks.push_number(known, number),
        Err(_) => tasks.push(known, &number.to_string()),
    };
    pushed.map_err(Raised::raised)
}

fn push_task(
    tasks: &mut RowTasks,
    known: &Tasks,
    task: &Bound<'_, PyAny>,
    row: Option<usize>,
) -> PyResult<()> {
    match task.cast::<PyString>() {
        Ok(name) => tasks.push(known, name.to_str()?).map_err(Raised::raised),
        Err(_) => push_number(tasks, known, task_number(task, row)?),
    }
}

/// The number of a task, perhaps of a row.
fn task_number(task: &Bound<'_, PyAny>, row: Option<usize>) -> PyResult<i64> {
    let number = if task.is_instance_of::<PyBool>() { None } else { task.extract::<i64>().ok() };
    number.ok_or_else(|| {
        let place = row.map_or_else(|| "task".to_owned(), |row| format!("tasks: row {row}"));
        data_error(format!("{place}: found {}; expected a name or a whole number", shown(task)))
    })
}

pub(crate) fn shown(value: &Bound<'_, PyAny>) -> String {
    let text =
        value.repr().map_or_else(|_| "something that cannot be shown".to_owned(), |text| text.to_string());
    if text.chars().count() > 60 { format!("{}…", text.chars().take(60).collect::<String>()) } else { text }
}

/// The name of a task: a text, a number, or none.
pub(crate) fn task_name(task: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    if task.is_none() {
        return Ok(None);
    }
    match task.cast::<PyString>() {
        Ok(name) => Ok(Some(name.to_str()?.to_owned())),
        Err(_) => Ok(Some(task_number(task, None)?.to_string())),
    }
}

/// The label of an example where labels are real numbers.
pub(crate) fn real_label(label: &Bound<'_, PyAny>) -> PyResult<f64> {
    label.extract().map_err(|_| data_error(format!("label: found {}; expected a number", shown(label))))
}

/// Passes on features given as a dictionary or as a pair of arrays; whether they have names is asked first.
pub(crate) fn with_features<R>(
    x: &Bound<'_, PyAny>,
    use_them: impl FnOnce(Features<'_>) -> PyResult<R>,
) -> PyResult<R> {
    if let Ok(cells) = x.cast::<PyDict>() {
        return match cells.iter().next().map(|(key, _)| key) {
            Some(key) if key.is_instance_of::<PyString>() => named(cells, use_them),
            Some(_) => use_them(Features::Numbered(&numbered(cells)?)),
            // Without features there is nothing to tell names from numbers by.
            None => use_them(Features::Nothing),
        };
    }
    if let Ok(pair) = x.cast::<PyTuple>()
        && pair.len() == 2
    {
        let (indices, values) = (pair.get_item(0)?, pair.get_item(1)?);
        let (indices, values) = (HeldIndices::new("indices", &indices)?, HeldValues::new("values", &values)?);
        return use_them(Features::Numbered(&pairs(indices.view()?, values.view()?)?));
    }
    Err(data_error(format!("x: found {}; expected a dictionary, or (indices, values)", shown(x))))
}

fn pairs(indices: Indices<'_>, values: Values<'_>) -> PyResult<Vec<(u32, f64)>> {
    let indices: Vec<i64> = match indices {
        Indices::I32(indices) => indices.iter().map(|index| i64::from(*index)).collect(),
        Indices::I64(indices) => indices.to_vec(),
    };
    let values: Vec<f64> = match values {
        Values::F32(values) => values.iter().map(|value| f64::from(*value)).collect(),
        Values::F64(values) => values.to_vec(),
    };
    if indices.len() != values.len() {
        let (i, v) = (indices.len(), values.len());
        return Err(data_error(format!("{i} indices and {v} values; there must be as many of each")));
    }
    if let Some([previous, index]) = indices.array_windows().find(|[previous, index]| previous >= index) {
        return Err(data_error(format!("feature index {index} after {previous}; indices must increase")));
    }
    indices.into_iter().zip(values).map(|(index, value)| Ok((feature(index)?, value))).collect()
}

fn feature(index: i64) -> PyResult<u32> {
    u32::try_from(index).map_err(|_| {
        let largest = cognate::BIAS_FEATURE - 1;
        data_error(format!("feature index {index}; expected 0 to {largest}"))
    })
}

/// Features by number.
fn numbered(cells: &Bound<'_, PyDict>) -> PyResult<Vec<(u32, f64)>> {
    cells
        .iter()
        .filter(|(_, value)| !value.is_none())
        .map(|(key, value)| {
            let index = if key.is_instance_of::<PyBool>() { None } else { key.extract::<i64>().ok() };
            let index = index.ok_or_else(|| {
                let key = shown(&key);
                data_error(format!(
                    "feature {key}: features of an example must all have names, or all numbers"
                ))
            })?;
            let value = value.extract::<f64>().map_err(|_| {
                data_error(format!("feature {index}: found {}; expected a number", shown(&value)))
            })?;
            Ok((feature(index)?, value))
        })
        .collect()
}

/// Features by name.
fn named<R>(cells: &Bound<'_, PyDict>, use_them: impl FnOnce(Features<'_>) -> PyResult<R>) -> PyResult<R> {
    let items: Vec<(Bound<'_, PyAny>, Bound<'_, PyAny>)> =
        cells.iter().filter(|(_, value)| !value.is_none()).collect();
    let mut found = Vec::with_capacity(items.len());
    for (key, value) in &items {
        let name = key.cast::<PyString>().map_err(|_| {
            let key = shown(key);
            data_error(format!("feature {key}: features of an example must all have names, or all numbers"))
        })?;
        let cell = if let Ok(text) = value.cast::<PyString>() {
            FeatureValue::Text(text.to_str()?)
        } else if value.is_instance_of::<PyFloat>() || value.is_instance_of::<PyInt>() {
            FeatureValue::Number(value.extract()?)
        } else {
            let number = value.extract::<f64>();
            FeatureValue::Number(number.map_err(|_| {
                let (name, value) = (shown(key), shown(value));
                data_error(format!("feature {name}: found {value}; expected a number or a text"))
            })?)
        };
        found.push((name.to_str()?, cell));
    }
    use_them(Features::Mixed(&found))
}
