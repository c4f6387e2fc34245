//! When an example was: seconds, or a date and time as RFC 3339 writes them.

use super::number::parse_f64;
use crate::example::is_valid;

/// Seconds: a number of them, or those since 1970 of a date; none if the text is neither.
///
/// Without an offset from UTC it is UTC, without a time of day midnight.
pub(crate) fn seconds(text: &[u8]) -> Option<f64> {
    match parse_f64(text) {
        Some(number) => is_valid(number).then_some(number),
        None => date_time(text),
    }
}

/// `2026-11-18`, and with `T12:30:00`, a fraction of the second, and `Z` or `+01:00` behind it.
fn date_time(text: &[u8]) -> Option<f64> {
    let (date, rest) = text.split_at_checked(10)?;
    let (year, month, day) =
        (whole(&date[..4])?, whole(&date[5..7]).filter(|_| date[4] == b'-')?, whole(&date[8..])?);
    if date[7] != b'-' || !(1..=12).contains(&month) || day < 1 || day > days_of(year, month) {
        return None;
    }
    let midnight = 86_400 * days_since_1970(year, month, day);
    if rest.is_empty() {
        return Some(midnight as f64);
    }
    let (clock, rest) = rest.split_at_checked(9)?;
    let (hour, minute, second) = (whole(&clock[1..3])?, whole(&clock[4..6])?, whole(&clock[7..])?);
    let separated = matches!(clock[0], b'T' | b't' | b' ') && clock[3] == b':' && clock[6] == b':';
    // A leap second is the 60th.
    if !separated || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let digits =
        rest.strip_prefix(b".").map_or(0, |rest| rest.iter().take_while(|b| b.is_ascii_digit()).count());
    if rest.starts_with(b".") && digits == 0 {
        return None;
    }
    let (fraction, zone) = rest.split_at(if digits == 0 { 0 } else { digits + 1 });
    let fraction = if digits == 0 { 0.0 } else { parse_f64(&[b"0", fraction].concat())? };
    let seconds = midnight + 3600 * hour + 60 * minute + second - zone_seconds(zone)?;
    Some(seconds as f64 + fraction)
}

/// Seconds by which clocks of a zone are ahead.
fn zone_seconds(zone: &[u8]) -> Option<i64> {
    match zone {
        b"" | b"Z" | b"z" => Some(0),
        [sign @ (b'+' | b'-'), a, b, b':', c, d] => {
            let (hours, minutes) = (whole(&[*a, *b])?, whole(&[*c, *d])?);
            let seconds = 3600 * hours + 60 * minutes;
            (hours <= 23 && minutes <= 59).then_some(if *sign == b'-' { -seconds } else { seconds })
        }
        _ => None,
    }
}

/// A number of digits alone.
fn whole(digits: &[u8]) -> Option<i64> {
    let all = digits.iter().all(u8::is_ascii_digit);
    all.then(|| digits.iter().fold(0, |number, digit| 10 * number + i64::from(digit - b'0')))
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to a date of the Gregorian calendar.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March, so that a leap day is their last; day 719468 of that count is 1970-01-01.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    365 * year + leap_days + (153 * month + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates() {
        for (text, expected) in [
            ("0", 0.0),
            ("-1.5e3", -1500.0),
            ("1970-01-01", 0.0),
            ("1970-01-01T00:00:00Z", 0.0),
            ("2000-02-29T12:00:00Z", 951_825_600.0),
            ("2026-11-18 07:22:15", 1_794_986_535.0),
            ("2026-11-18t08:22:15.250+01:00", 1_794_986_535.25),
            ("1969-12-31T23:59:59-00:30", 1_799.0),
            ("2016-12-31T23:59:60Z", 1_483_228_800.0),
        ] {
            assert_eq!(seconds(text.as_bytes()), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_time() {
        for text in [
            "",
            "now",
            "NaN",
            "inf",
            "2026-11",
            "2026-13-01",
            "2026-02-29",
            "2026-11-00",
            "2026/11/18",
            "2026-11-18T",
            "2026-11-18T24:00:00Z",
            "2026-11-18T07:22Z",
            "2026-11-18T07:22:15.Z",
            "2026-11-18T07:22:15+0100",
            "2026-11-18T07:22:15+24:00",
            "2026-11-18T07:22:15 Z",
            "+026-11-18",
            "2026-11-18x07:22:15",
            "\u{fc}\u{fc}\u{fc}\u{fc}\u{fc}",
        ] {
            assert_eq!(seconds(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn every_day_is_one_day_after_the_day_before() {
        let mut expected = days_since_1970(1599, 12, 31);
        for year in 1600..2400 {
            for month in 1..=12 {
                for day in 1..=days_of(year, month) {
                    expected += 1;
                    assert_eq!(days_since_1970(year, month, day), expected, "{year}-{month}-{day}");
                }
            }
        }
        assert_eq!(days_since_1970(1970, 1, 1), 0);
    }
}
