//! Some entries of a slice, to be changed side by side.

/// The entries at increasing positions.
pub(crate) fn lend<T>(mut slice: &mut [T], positions: impl Iterator<Item = usize>) -> Vec<&mut T> {
    let (mut lent, mut start) = (Vec::new(), 0);
    for position in positions {
        let Some((entry, rest)) = slice.get_mut(position - start..).and_then(<[T]>::split_first_mut) else {
            break;
        };
        lent.push(entry);
        (slice, start) = (rest, position + 1);
    }
    lent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_lent_by_position() {
        let mut numbers = [10, 11, 12, 13, 14];
        lend(&mut numbers, [0, 2, 4].into_iter()).into_iter().for_each(|entry| *entry += 100);
        assert_eq!(numbers, [110, 11, 112, 13, 114]);
        assert_eq!(lend(&mut numbers, [1, 7].into_iter()), [&mut 11], "nothing beyond the end");
        assert!(lend(&mut numbers, std::iter::empty()).is_empty());
    }
}
