//! Timestamps: microseconds since 1970-01-01 00:00:00, in the proleptic Gregorian calendar and
//! without time zone.

use crate::refusal::{Answer, Code, Refusal};

/// Microseconds of a second.
pub const SECOND: i64 = 1_000_000;
const DAY: i64 = 24 * 60 * 60 * SECOND;
/// Days of 400 years: after them the calendar repeats.
const ERA_DAYS: i64 = 146_097;
/// Days from 0000-03-01 to 1970-01-01.
const EPOCH_DAYS: i64 = 719_468;

/// Return the microseconds of a text such as `2008-02-29`, `2008-02-29 12:30` or
/// `2008-02-29T12:30:05.25Z`, of the years 1 to 9999.
///
/// ```
/// use headroom_catalogue::value::timestamp;
///
/// assert_eq!(timestamp::parse("1970-01-02 00:00:01.5")?, 86_401_500_000);
/// # Ok::<(), headroom_catalogue::refusal::Refusal>(())
/// ```
///
/// # Errors
///
/// The text has another form, or there is no such day or time.
pub fn parse(text: &str) -> Answer<i64> {
    read(text.trim_ascii()).ok_or_else(|| {
        let message = format!(
            "`{}` is not a timestamp; write it as 2008-02-29 12:30:05.25",
            text.escape_debug()
        );
        Refusal::new(Code::IllegalQuery, message)
    })
}

/// Return the text of a timestamp: `2008-02-29 12:30:05.25`.
pub fn show(microseconds: i64) -> String {
    let (year, month, day) = date(microseconds.div_euclid(DAY));
    let rest = microseconds.rem_euclid(DAY);
    let (seconds, fraction) = (rest / SECOND, rest % SECOND);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let mut text = format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}");
    if fraction > 0 {
        text.push_str(format!(".{fraction:06}").trim_end_matches('0'));
    }
    text
}

fn read(text: &str) -> Option<i64> {
    let text = text.strip_suffix('Z').unwrap_or(text);
    let (day, time) = match text.find([' ', 'T']) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let time = time.map_or(Some(0), read_time)?;
    Some(read_date(day)? * DAY + time)
}

fn read_date(text: &str) -> Option<i64> {
    let mut parts = text.split('-');
    let year = number(parts.next()?, 4)?;
    let month = number(parts.next()?, 2)?;
    let day = number(parts.next()?, 2)?;
    let is_fine = parts.next().is_none()
        && year > 0
        && (1..=12).contains(&month)
        && (1..=days_of_month(year, month)).contains(&day);
    is_fine.then(|| days(year, month, day))
}

fn read_time(text: &str) -> Option<i64> {
    let mut parts = text.split(':');
    let hour = number(parts.next()?, 2)?;
    let minute = number(parts.next()?, 2)?;
    let rest = parts.next().unwrap_or("00");
    let (second, fraction) = rest.split_once('.').unwrap_or((rest, "0"));
    let second = number(second, 2)?;
    let is_fine = parts.next().is_none()
        && (1..=6).contains(&fraction.len())
        && hour < 24
        && minute < 60
        && second < 60;
    let fraction = number(&format!("{fraction:0<6}"), 6)?;
    is_fine.then(|| ((hour * 60 + minute) * 60 + second) * SECOND + fraction)
}

/// Return the number of exactly this many digits.
fn number(text: &str, digits: usize) -> Option<i64> {
    let is_fine = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    is_fine.then(|| text.parse().ok()).flatten()
}

fn days_of_month(year: i64, month: i64) -> i64 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Return the days since 1970. A year begins in March here, so that a leap day is its last day.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month < 3 { year - 1 } else { year };
    let (era, year) = (year.div_euclid(400), year.rem_euclid(400));
    let months = (month + 9) % 12;
    let day_of_year = (153 * months + 2) / 5 + day - 1;
    era * ERA_DAYS + year * 365 + year / 4 - year / 100 + day_of_year - EPOCH_DAYS
}

/// Return year, month and day: the inverse of `days`.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + EPOCH_DAYS;
    let (era, day) = (days.div_euclid(ERA_DAYS), days.rem_euclid(ERA_DAYS));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let months = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * months + 2) / 5 + 1;
    let month = (months + 2) % 12 + 1;
    let year = era * 400 + year + i64::from(month < 3);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_instants() {
        for (text, seconds) in [
            ("1970-01-01", 0),
            ("2000-02-29", 951_782_400),
            ("2008-02-29 12:30", 1_204_288_200),
            ("1969-12-31T23:59:59Z", -1),
            ("0001-01-01", -62_135_596_800),
            ("9999-12-31 23:59:59", 253_402_300_799),
        ] {
            assert_eq!(parse(text).unwrap(), seconds * SECOND, "{text}");
        }
    }

    #[test]
    fn every_day_of_1200_years_follows_the_day_before() {
        let mut expected = parse("1500-01-01").unwrap();
        for year in 1500..2700 {
            for month in 1..=12 {
                for day in 1..=days_of_month(year, month) {
                    let text = format!("{year:04}-{month:02}-{day:02} 00:00:00");
                    assert_eq!(parse(&text).unwrap(), expected);
                    assert_eq!(show(expected), text);
                    expected += DAY;
                }
            }
        }
    }

    #[test]
    fn fractions_are_shown_as_far_as_needed() {
        for text in ["2008-02-29 12:30:05.25", "1901-01-01 00:00:00.000001"] {
            assert_eq!(show(parse(text).unwrap()), text);
        }
    }

    #[test]
    fn no_number_of_microseconds_fails_to_be_shown() {
        assert!(show(i64::MIN).starts_with('-'));
        assert!(show(i64::MAX).starts_with("294247-01-10"));
    }

    #[test]
    fn other_forms_are_refused() {
        for text in [
            "",
            "2008",
            "2008-2-29",
            "2007-02-29",
            "1900-02-29",
            "2008-13-01",
            "2008-00-10",
            "0000-01-01",
            "2008-01-01 24:00:00",
            "2008-01-01 12",
            "2008-01-01 12:30:60",
            "2008-01-01 12:30:00.",
            "2008-01-01 12:30:00.1234567",
            "2008-01-01 12:30:00+01",
            "+008-01-01",
            "2008-01-01-01",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
