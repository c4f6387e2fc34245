//! "Did you mean": known names ordered by their distance from what was written.

/// Known names, nearest to `found` first.
pub fn nearest_names<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut names: Vec<&str> = known.into_iter().collect();
    names.sort_by_key(|name| edit_distance(found, name));
    names
}

/// Levenshtein distance in characters.
fn edit_distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (at, from) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (column, to) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[right.len()]
}

/// A message of serde about an unknown name, with the known ones ordered by their distance from it.
pub fn nearest_first(message: &str) -> String {
    let names: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    match (&names[..], message.split_once(", expected one of `")) {
        ([found, known @ ..], Some((unknown, _))) if message.starts_with("unknown ") => {
            let nearest = nearest_names(found, known.iter().copied());
            format!("{unknown}, expected one of `{}`", nearest.join("`, `"))
        }
        _ => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_comes_first() {
        assert_eq!(nearest_names("coupeld", ["pooled", "coupled", "graph"])[0], "coupled");
        assert_eq!((edit_distance("", "abc"), edit_distance("kitten", "sitting")), (3, 3));
    }
}
