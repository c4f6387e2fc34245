//! What are examples, byte by byte? Requests are parsed into this form, the log holds it, and models learn from it: what is learnt
//! again after a crash is what was learnt the first time.
//!
//! Numbers are little-endian; a *count* is LEB128. An example is:
//!
//! ```text
//! flags     u8      bits: 1 features have names, 2 some values are texts, 4 weight, 8 offset, 16 time, 32 values are f32,
//!                   64 label, 128 id
//! label     f64     where flagged, as are weight, offset, time (f64 each) and id (count of bytes, UTF-8)
//! task      count of bytes, UTF-8; 0 for none
//! features  count, and each: index (count) or name (count of bytes, UTF-8), and value: f32 or f64. Where some are texts, a byte
//!           comes before each value: 0 for a number, 1 for a text (count of bytes, UTF-8)
//! ```

use cognate::FeatureValue;
use cognate::model::Beside;

const NAMED: u8 = 1;
const MIXED: u8 = 2;
const WEIGHT: u8 = 4;
const OFFSET: u8 = 8;
const TIME: u8 = 16;
const SHORT: u8 = 32;
const LABEL: u8 = 64;
const ID: u8 = 128;

/// Examples in the form of the log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Examples {
    /// One behind the other.
    pub bytes: Vec<u8>,
    /// How many there are.
    pub count: usize,
}

/// An example, its texts borrowed from where it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Row<'a> {
    /// Its task; none belongs to `default`.
    pub task: Option<&'a str>,
    /// Its label.
    pub label: Option<f64>,
    /// What it is known by.
    pub id: Option<&'a str>,
    /// Weight, offset and time.
    pub beside: Beside,
    /// Its features.
    pub features: RowFeatures<'a>,
}

/// Features of an example.
#[derive(Debug, Clone, PartialEq)]
pub enum RowFeatures<'a> {
    /// By number, from 0.
    Numbered(Vec<(u32, f64)>),
    /// By name.
    Named(Vec<(&'a str, f64)>),
    /// By name, some values being texts.
    Mixed(Vec<(&'a str, FeatureValue<'a>)>),
}

impl RowFeatures<'_> {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Numbered(pairs) => pairs.len(),
            Self::Named(pairs) => pairs.len(),
            Self::Mixed(pairs) => pairs.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// As the library takes them.
    pub fn as_features(&self) -> cognate::Features<'_> {
        match self {
            _ if self.is_empty() => cognate::Features::Nothing,
            Self::Numbered(pairs) => pairs.into(),
            Self::Named(pairs) => pairs.into(),
            Self::Mixed(pairs) => pairs.into(),
        }
    }
}

/// Appends a count.
pub(crate) fn push_count(bytes: &mut Vec<u8>, mut count: u64) {
    while count >= 0x80 {
        bytes.push(count as u8 | 0x80);
        count >>= 7;
    }
    bytes.push(count as u8);
}

/// Appends a text with its length.
pub(crate) fn push_text(bytes: &mut Vec<u8>, text: &str) {
    push_count(bytes, text.len() as u64);
    bytes.extend_from_slice(text.as_bytes());
}

fn push_value(bytes: &mut Vec<u8>, value: f64, short: bool) {
    if short {
        bytes.extend_from_slice(&(value as f32).to_le_bytes());
    } else {
        bytes.extend_from_slice(&value.to_le_bytes());
    }
}

/// Whether a number is the same with fewer digits, to the bit.
fn is_short(value: f64) -> bool {
    f64::from(value as f32).to_bits() == value.to_bits()
}

impl Examples {
    /// Adds an example.
    pub fn push(&mut self, row: &Row<'_>) {
        let Row { task, label, id, beside, features } = row;
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        let short = match features {
            RowFeatures::Numbered(pairs) => pairs.iter().all(|(_, value)| is_short(*value)),
            RowFeatures::Named(pairs) => pairs.iter().all(|(_, value)| is_short(*value)),
            RowFeatures::Mixed(_) => false,
        };
        let kind = match features {
            RowFeatures::Numbered(_) => 0,
            RowFeatures::Named(_) => NAMED,
            RowFeatures::Mixed(_) => NAMED | MIXED,
        };
        let bytes = &mut self.bytes;
        bytes.push(
            kind | flag(short, SHORT)
                | flag(label.is_some(), LABEL)
                | flag(beside.weight != 1.0, WEIGHT)
                | flag(beside.offset != 0.0, OFFSET)
                | flag(beside.time.is_some(), TIME)
                | flag(id.is_some(), ID),
        );
        let weight = Some(beside.weight).filter(|weight| *weight != 1.0);
        let offset = Some(beside.offset).filter(|offset| *offset != 0.0);
        for number in [*label, weight, offset, beside.time].into_iter().flatten() {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        id.iter().for_each(|id| push_text(bytes, id));
        push_text(bytes, task.unwrap_or_default());
        push_count(bytes, features.len() as u64);
        match features {
            RowFeatures::Numbered(pairs) => {
                for (index, value) in pairs {
                    push_count(bytes, u64::from(*index));
                    push_value(bytes, *value, short);
                }
            }
            RowFeatures::Named(pairs) => {
                for (name, value) in pairs {
                    push_text(bytes, name);
                    push_value(bytes, *value, short);
                }
            }
            RowFeatures::Mixed(pairs) => {
                pairs.iter().for_each(|(name, value)| push_mixed(bytes, name, value));
            }
        }
        self.count += 1;
    }

    /// Adds an example that has been written before, with a label: none was written with it.
    pub fn push_labelled(&mut self, example: &[u8], label: f64) {
        debug_assert!(example[0] & LABEL == 0, "what is remembered waits for its label");
        self.bytes.push(example[0] | LABEL);
        self.bytes.extend_from_slice(&label.to_le_bytes());
        self.bytes.extend_from_slice(&example[1..]);
        self.count += 1;
    }

    /// The examples, one after the other.
    pub fn reader(&self) -> ExampleReader<'_> {
        ExampleReader::new(&self.bytes)
    }
}

fn push_mixed(bytes: &mut Vec<u8>, name: &str, value: &FeatureValue<'_>) {
    push_text(bytes, name);
    match value {
        FeatureValue::Text(text) => {
            bytes.push(1);
            push_text(bytes, text);
        }
        FeatureValue::Number(value) => {
            bytes.push(0);
            push_value(bytes, *value, false);
        }
        _ => unreachable!("a value is a number or a text"),
    }
}

/// Bytes that are not what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the entry is not whole")]
pub struct NotWhole;

/// Takes bytes apart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl<'a> Bytes<'a> {
    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], NotWhole> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(NotWhole)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], NotWhole> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(NotWhole)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, NotWhole> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn f64(&mut self) -> Result<f64, NotWhole> {
        self.array().map(f64::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, NotWhole> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn count(&mut self) -> Result<u64, NotWhole> {
        let mut count = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            count |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(count);
            }
        }
        Err(NotWhole)
    }

    pub(crate) fn text(&mut self) -> Result<&'a str, NotWhole> {
        let length = usize::try_from(self.count()?).map_err(|_| NotWhole)?;
        std::str::from_utf8(self.take(length)?).map_err(|_| NotWhole)
    }

    fn value(&mut self, short: bool) -> Result<f64, NotWhole> {
        if short { self.array().map(|bytes| f64::from(f32::from_le_bytes(bytes))) } else { self.f64() }
    }
}

/// Reads examples.
#[derive(Debug, Clone)]
pub struct ExampleReader<'a> {
    rest: Bytes<'a>,
}

impl<'a> ExampleReader<'a> {
    /// Of these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: Bytes(bytes) }
    }

    fn row(&mut self) -> Result<Row<'a>, NotWhole> {
        let rest = &mut self.rest;
        let flags = rest.byte()?;
        let mut number = |flag: u8| if flags & flag == 0 { Ok(None) } else { rest.f64().map(Some) };
        let (label, weight) = (number(LABEL)?, number(WEIGHT)?);
        let (offset, time) = (number(OFFSET)?, number(TIME)?);
        let id = if flags & ID == 0 { None } else { Some(rest.text()?) };
        let task = Some(rest.text()?).filter(|task| !task.is_empty());
        let count = rest.count()?;
        let short = flags & SHORT != 0;
        // A feature takes at least two bytes, so that no count can ask for more memory than there are bytes.
        let room = usize::try_from(count).ok().filter(|count| *count <= rest.0.len() / 2).ok_or(NotWhole)?;
        let features = match flags & (NAMED | MIXED) {
            0 => {
                let mut pairs = Vec::with_capacity(room);
                for _ in 0..count {
                    pairs.push((u32::try_from(rest.count()?).map_err(|_| NotWhole)?, rest.value(short)?));
                }
                RowFeatures::Numbered(pairs)
            }
            NAMED => {
                let mut pairs = Vec::with_capacity(room);
                for _ in 0..count {
                    pairs.push((rest.text()?, rest.value(short)?));
                }
                RowFeatures::Named(pairs)
            }
            _ => {
                let mut pairs = Vec::with_capacity(room);
                for _ in 0..count {
                    let name = rest.text()?;
                    let value = match rest.byte()? {
                        0 => FeatureValue::Number(rest.value(short)?),
                        1 => FeatureValue::Text(rest.text()?),
                        _ => return Err(NotWhole),
                    };
                    pairs.push((name, value));
                }
                RowFeatures::Mixed(pairs)
            }
        };
        let beside = Beside { weight: weight.unwrap_or(1.0), offset: offset.unwrap_or(0.0), time };
        Ok(Row { task, label, id, beside, features })
    }

    /// The next example, and the bytes that it stands in.
    ///
    /// # Errors
    /// When it is not whole.
    pub fn next_with_bytes(&mut self) -> Result<Option<(Row<'a>, &'a [u8])>, NotWhole> {
        let before = self.rest.0;
        if before.is_empty() {
            return Ok(None);
        }
        let row = self.row()?;
        Ok(Some((row, &before[..before.len() - self.rest.0.len()])))
    }
}

impl<'a> Iterator for ExampleReader<'a> {
    type Item = Result<Row<'a>, NotWhole>;

    fn next(&mut self) -> Option<Self::Item> {
        let read = self.next_with_bytes().map(|found| found.map(|(row, _)| row)).transpose();
        if read.as_ref().is_some_and(Result::is_err) {
            self.rest = Bytes(&[]);
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Row<'static>> {
        let beside = Beside { weight: 2.5, offset: -0.25, time: Some(1.0e9) };
        let plain = Beside::default();
        let mixed = vec![("tier", FeatureValue::Text("gold")), ("x", FeatureValue::Number(0.1))];
        vec![
            Row {
                task: Some("alice"),
                label: Some(-1.0),
                id: Some("m-17"),
                beside,
                features: RowFeatures::Named(vec![("offer", 1.0), ("grüße", 0.1)]),
            },
            Row {
                task: None,
                label: None,
                id: None,
                beside: plain,
                features: RowFeatures::Numbered(vec![(0, 0.5), (u32::MAX - 2, -2.0)]),
            },
            Row {
                task: Some("bob"),
                label: None,
                id: None,
                beside: plain,
                features: RowFeatures::Mixed(mixed),
            },
            Row {
                task: Some("b"),
                label: Some(0.0),
                id: None,
                beside: plain,
                features: RowFeatures::Named(vec![]),
            },
        ]
    }

    fn written(rows: &[Row<'_>]) -> Examples {
        let mut examples = Examples::default();
        rows.iter().for_each(|row| examples.push(row));
        examples
    }

    #[test]
    fn what_is_written_is_read_back() {
        let (rows, examples) = (rows(), written(&rows()));
        assert_eq!(examples.reader().collect::<Result<Vec<_>, _>>().unwrap(), rows);
        let mut reader = examples.reader();
        let mut lengths = 0;
        while let Some((_, bytes)) = reader.next_with_bytes().unwrap() {
            lengths += bytes.len();
        }
        assert_eq!(lengths, examples.bytes.len());
    }

    #[test]
    fn a_label_comes_later() {
        let mut examples = Examples::default();
        let row = &rows()[1];
        examples.push_labelled(&written(std::slice::from_ref(row)).bytes, 1.0);
        assert_eq!(examples.reader().next(), Some(Ok(Row { label: Some(1.0), ..row.clone() })));
    }

    #[test]
    fn cut_or_changed_bytes_never_panic() {
        let bytes = written(&rows()).bytes;
        for at in 0..bytes.len() {
            assert!(ExampleReader::new(&bytes[..at]).count() <= 4);
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << bit;
                assert!(ExampleReader::new(&changed).count() <= bytes.len());
            }
        }
        let endless = [0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
        assert_eq!(ExampleReader::new(&endless).next(), Some(Err(NotWhole)));
    }
}
