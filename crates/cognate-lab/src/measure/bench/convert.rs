//! How a stream reaches the peers: Vowpal Wabbit's text form, and prefixes.

use std::io::{self, BufRead, Write};

use anyhow::{Context, Result, bail};

/// Writes svmlight with `qid:` in VW's form, `1 |t u7 |f 3:0.1234 …`; returns the number of examples.
///
/// The task is `u7`, not `7`: VW does not hash an all-digit name but adds it to the hash of its namespace,
/// so that numeric tasks crossed with numeric features would land close together and collide.
pub(super) fn to_vw(lines: &mut dyn BufRead, out: &mut dyn Write) -> Result<u64> {
    let mut line = Vec::new();
    let mut count = 0;
    while next_line(lines, &mut line)? {
        count += 1;
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        let (label, task, features) = split(text).with_context(|| format!("line {count}"))?;
        out.write_all(if label == b"-1" { b"-1 |t u" } else { b"1 |t u" })?;
        out.write_all(task)?;
        out.write_all(b" |f ")?;
        out.write_all(features)?;
        out.write_all(b"\n")?;
    }
    Ok(count)
}

/// Copies the first `count` lines; returns how many there were.
pub(super) fn head(lines: &mut dyn BufRead, out: &mut dyn Write, count: u64) -> Result<u64> {
    let mut line = Vec::new();
    for copied in 0..count {
        if !next_line(lines, &mut line)? {
            return Ok(copied);
        }
        out.write_all(&line)?;
    }
    Ok(count)
}

fn next_line(lines: &mut dyn BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    Ok(lines.read_until(b'\n', line)? > 0)
}

/// Label, task and features of a line.
fn split(line: &[u8]) -> Result<(&[u8], &[u8], &[u8])> {
    let mut words = line.splitn(3, |&byte| byte == b' ');
    let (Some(label), Some(task), Some(features)) = (words.next(), words.next(), words.next()) else {
        bail!("expected a label, qid: and features, separated by single blanks");
    };
    if ![&b"+1"[..], b"1", b"-1"].contains(&label) {
        bail!("expected a label +1 or -1, found {:?}", String::from_utf8_lossy(label));
    }
    let Some(task) = task.strip_prefix(b"qid:") else {
        bail!("expected qid:, found {:?}", String::from_utf8_lossy(task));
    };
    Ok((label, task, features))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vw_lines_have_a_task_and_a_feature_namespace() {
        let mut out = Vec::new();
        let lines = "+1 qid:7 3:0.1234 9:-1.0000\n-1 qid:12 1:0.5000";
        assert_eq!(to_vw(&mut lines.as_bytes(), &mut out).unwrap(), 2);
        assert_eq!(String::from_utf8(out).unwrap(), "1 |t u7 |f 3:0.1234 9:-1.0000\n-1 |t u12 |f 1:0.5000\n");
    }

    #[test]
    fn a_line_of_another_form_is_refused_with_its_number() {
        let error = to_vw(&mut "+1 qid:7 3:1\n+1 3:1 4:1\n".as_bytes(), &mut Vec::new()).unwrap_err();
        assert_eq!(format!("{error:#}"), "line 2: expected qid:, found \"3:1\"");
    }

    #[test]
    fn head_stops_at_the_end() {
        let mut out = Vec::new();
        assert_eq!(head(&mut "a\nb\nc\n".as_bytes(), &mut out, 2).unwrap(), 2);
        assert_eq!(out, b"a\nb\n");
        assert_eq!(head(&mut "a\nb\n".as_bytes(), &mut Vec::new(), 5).unwrap(), 2);
    }
}
