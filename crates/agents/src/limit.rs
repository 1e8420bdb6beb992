//! When a limit ends: what CLIs write about it, as a time.
//!
//! A time that is not understood stays unknown. A reset that nobody announced is never made up.

use jiff::civil::{Date, Time, date, time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ZonedDateTime};

/// A reset further ahead than this is a misunderstanding: the longest windows are a month, in milliseconds.
const AHEAD_MAX_MS: i64 = 40 * 24 * 3_600 * 1_000;

/// A time of day that has passed by no more than this was meant as just now: minutes are rounded down, and a turn
/// takes a moment to end.
const PASSED_MAX_MS: i64 = 10 * 60 * 1_000;

/// A time of day is written in minutes, rounded down: only the end of that minute is surely not too early.
const MINUTE_MS: i64 = 60_000;

/// Numbers from here on are milliseconds of the Unix clock, below they are seconds: as seconds it is the year 5138, as
/// milliseconds it is 1973.
const FIRST_MS: u64 = 100_000_000_000;

/// A point of time that was given as a number of seconds or of milliseconds.
pub(crate) fn epoch_ms(number: i64, now_ms: i64) -> Option<i64> {
    let ms = if number.unsigned_abs() >= FIRST_MS { number } else { number.checked_mul(1_000)? };
    is_sound(ms, now_ms).then_some(ms)
}

/// A wait from `now_ms` on, in milliseconds.
pub(crate) fn after_ms(wait_ms: f64, now_ms: i64) -> Option<i64> {
    if !wait_ms.is_finite() || wait_ms < 0.0 || wait_ms > AHEAD_MAX_MS as f64 {
        return None;
    }
    // The bound above keeps the number far below what is exact.
    Some(now_ms + wait_ms.ceil() as i64)
}

/// The reset that a CLI's own error line names: `resets 8:23pm (UTC)`, `try again at Dec 1st, 2026 1:54 AM`,
/// `try again in 2 hours 5 minutes`, `reset after 18h31m10s`. A time without a zone is one of the machine's own.
pub(crate) fn reset_in(line: &str, now_ms: i64) -> Option<i64> {
    reset_in_zone(line, now_ms, &TimeZone::system())
}

fn reset_in_zone(line: &str, now_ms: i64, local: &TimeZone) -> Option<i64> {
    // Only the letters that keep their length change, so a place in the one is the same place in the other.
    let lower = line.to_ascii_lowercase();
    let mut found = None;
    for key in ["resets", "reset", "try again", "retry", "|"] {
        for (at, _) in lower.match_indices(key) {
            let rest = line.get(at + key.len()..).unwrap_or_default();
            let reset = if key == "|" { bare_epoch(rest, now_ms) } else { after_key(rest, now_ms, local) };
            found = found.or(reset);
        }
    }
    found
}

/// An older form of Claude Code's: `...limit reached|1754661600`.
fn bare_epoch(rest: &str, now_ms: i64) -> Option<i64> {
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    if digits.len() < 10 { None } else { epoch_ms(digits.parse().ok()?, now_ms) }
}

fn after_key(rest: &str, now_ms: i64, local: &TimeZone) -> Option<i64> {
    let words = words(rest);
    let more = words.get(1..).unwrap_or_default();
    match words.first().map(|word| word.text.as_str()) {
        Some("in" | "after") => duration(more, now_ms),
        Some("at" | "on") => moment(more, rest, now_ms, local),
        Some(_) => moment(&words, rest, now_ms, local),
        None => None,
    }
}

/// A word of a sentence.
struct Word {
    /// In small letters, without the marks around it.
    text: String,
    /// Where it ends in the text that it is from, with its marks.
    end: usize,
}

/// The words up to the end of the sentence.
fn words(rest: &str) -> Vec<Word> {
    let mut found = Vec::new();
    let mut end = 0;
    for piece in rest.split_inclusive(char::is_whitespace) {
        end += piece.len();
        let marked = piece.trim_end();
        let text = marked.trim_matches(|c: char| ",;·()".contains(c)).trim_end_matches('.');
        if !text.is_empty() {
            found.push(Word { text: text.to_ascii_lowercase(), end: end - piece.len() + marked.len() });
        }
    }
    found.truncate(12);
    found
}

/// `2 hours 5 minutes`, `11s`, `18h31m10s`, `1 day and 2 hours`.
fn duration(words: &[Word], now_ms: i64) -> Option<i64> {
    let mut text = String::new();
    for word in words.iter().map(|word| word.text.as_str()) {
        let goes_on =
            word.starts_with(|c: char| c.is_ascii_digit()) || unit_ms(word).is_some() || word == "and";
        if !goes_on {
            break;
        }
        text.push_str(if word == "and" { "" } else { word });
    }
    let mut total_ms = None;
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(digits);
        let letters = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, next) = after.split_at(letters);
        total_ms = Some(total_ms.unwrap_or(0.0) + number.parse::<f64>().ok()? * unit_ms(unit)?);
        rest = next;
    }
    after_ms(total_ms?, now_ms)
}

/// How long a unit of time is, in milliseconds.
fn unit_ms(word: &str) -> Option<f64> {
    let seconds = match word {
        "ms" | "millisecond" | "milliseconds" => return Some(1.0),
        "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3_600.0,
        "d" | "day" | "days" => 86_400.0,
        _ => return None,
    };
    Some(seconds * 1_000.0)
}

/// `8:23pm (UTC)`, `dec 1st, 2026 1:54 am`, `dec 3 at 8pm (europe/berlin)`, `8:33 pm`.
/// `rest` is the text that the words are from.
fn moment(words: &[Word], rest: &str, now_ms: i64, local: &TimeZone) -> Option<i64> {
    let mut left = words;
    let mut next_if = |is_meant: &dyn Fn(&str) -> bool| {
        let (word, more) = left.split_first().filter(|(word, _)| is_meant(&word.text))?;
        left = more;
        Some(word)
    };
    let mut day = None;
    if let Some(word) = next_if(&|word| month(word).is_some()) {
        let number = next_if(&|_| true)?.text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let year = next_if(&|word| word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_digit()));
        let year = year.and_then(|year| year.text.parse::<i16>().ok());
        day = Some((month(&word.text)?, number.parse::<i8>().ok()?, year));
        next_if(&|word| word == "at");
    }
    let written = next_if(&|_| true)?;
    let half = next_if(&|word| matches!(word, "am" | "pm"));
    let clock = clock(&format!("{}{}", written.text, half.map_or("", |half| half.text.as_str())))?;
    let (time, after) = rest.split_at_checked(half.unwrap_or(written).end)?;
    let zone = match zone_after(time, after) {
        Zone::Known(zone) => zone,
        Zone::Unnamed => local.clone(),
        Zone::Unknown => return None,
    };
    let now = Timestamp::from_millisecond(now_ms).ok()?.to_zoned_datetime(zone.clone());
    let zoned = match day {
        Some(day) => on_day(day, clock, &now)?,
        None => next_at(clock, &now)?,
    };
    let ms = zoned.timestamp().as_millisecond() + MINUTE_MS;
    is_sound(ms, now_ms).then_some(ms)
}

fn month(word: &str) -> Option<i8> {
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let at = MONTHS.iter().position(|month| word.len() >= 3 && month.starts_with(word))?;
    i8::try_from(at + 1).ok()
}

/// `8:23pm`, `8pm`, `20:23`.
fn clock(text: &str) -> Option<Time> {
    let (text, half) = match (text.strip_suffix("am"), text.strip_suffix("pm")) {
        (Some(text), _) => (text, Some(0)),
        (_, Some(text)) => (text, Some(12)),
        _ => (text, None),
    };
    let (hour, minute) = match text.split_once(':') {
        Some((hour, minute)) => (hour.parse::<i8>().ok()?, minute.get(..2)?.parse::<i8>().ok()?),
        // A number alone is no time of day.
        None => (half.and_then(|_| text.parse::<i8>().ok())?, 0),
    };
    let hour = match half {
        Some(half) if (1..=12).contains(&hour) => hour % 12 + half,
        Some(_) => return None,
        None => hour,
    };
    ((0..24).contains(&hour) && (0..60).contains(&minute)).then(|| time(hour, minute, 0, 0))
}

/// What is said of the zone of a time.
enum Zone {
    Known(TimeZone),
    /// Nothing: the time is one of the machine's own.
    Unnamed,
    /// Something that has more than one meaning, or none that we know.
    Unknown,
}

/// The zone is what stands right behind the time, with or without parentheses. What comes later is about something else.
fn zone_after(time: &str, after: &str) -> Zone {
    let after = after.trim_start();
    if time.ends_with(['.', ',', ';', ')']) {
        return Zone::Unnamed;
    }
    if let Some((inside, _)) = after.strip_prefix('(').and_then(|inside| inside.split_once(')')) {
        let inside = inside.trim();
        return match inside.contains(char::is_whitespace) {
            true => in_words(inside),
            false => named(inside).unwrap_or(Zone::Unknown),
        };
    }
    let word = after.split_whitespace().next().unwrap_or_default();
    let word = word.trim_end_matches(|c: char| ".,;:!?".contains(c));
    named(word).unwrap_or_else(|| in_words(word))
}

/// `UTC`, `Europe/Berlin`; nothing when it is a word of another kind.
fn named(word: &str) -> Option<Zone> {
    if ["utc", "gmt", "z"].iter().any(|name| word.eq_ignore_ascii_case(name)) {
        return Some(Zone::Known(TimeZone::UTC));
    }
    let is_name = word.starts_with(|c: char| c.is_ascii_alphabetic()) && word.contains('/');
    let zone = is_name.then(|| TimeZone::get(word).ok())?;
    Some(zone.map_or(Zone::Unknown, Zone::Known))
}

/// `Pacific Time`, `PST` and `+02:00` may be zones, and what they mean would be a guess; `or visit` and `see /usage` are none.
fn in_words(text: &str) -> Zone {
    match text.starts_with(|c: char| c.is_ascii_uppercase() || "+-".contains(c)) {
        true => Zone::Unknown,
        false => Zone::Unnamed,
    }
}

/// The next time that the clock shows this.
fn next_at(clock: Time, now: &ZonedDateTime) -> Option<ZonedDateTime> {
    let today = now.date();
    for day in [today.yesterday().ok()?, today, today.tomorrow().ok()?] {
        let zoned = at(day, clock, now)?;
        if zoned.timestamp().as_millisecond() > now.timestamp().as_millisecond() - PASSED_MAX_MS {
            return Some(zoned);
        }
    }
    None
}

/// The time on a day, which is in this year or in the next one where none is named.
fn on_day(
    (month, day, year): (i8, i8, Option<i16>),
    clock: Time,
    now: &ZonedDateTime,
) -> Option<ZonedDateTime> {
    if !(1..=31).contains(&day) {
        return None;
    }
    let day_of = |year: i16| {
        Date::new(year, month, 1)
            .ok()
            .filter(|first| day <= first.days_in_month())
            .map(|_| date(year, month, day))
    };
    if let Some(year) = year {
        return at(day_of(year)?, clock, now);
    }
    let soonest = now.timestamp().as_millisecond() - PASSED_MAX_MS;
    let candidates = [now.year(), now.year().checked_add(1)?];
    candidates
        .into_iter()
        .filter_map(|year| at(day_of(year)?, clock, now))
        .find(|zoned| zoned.timestamp().as_millisecond() > soonest)
}

/// A time that daylight saving leaves out is the one that the clocks show then; of two, it is the first.
fn at(day: Date, clock: Time, now: &ZonedDateTime) -> Option<ZonedDateTime> {
    day.to_datetime(clock).to_zoned_datetime(now.time_zone().clone()).ok()
}

/// Whether a reset can be meant: not long ago, not in the far future.
fn is_sound(ms: i64, now_ms: i64) -> bool {
    ms > now_ms.saturating_sub(24 * 3_600 * 1_000) && ms < now_ms.saturating_add(AHEAD_MAX_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;

    fn ms(text: &str) -> i64 {
        text.parse::<Timestamp>().expect("a time").as_millisecond()
    }

    fn zone(name: &str) -> TimeZone {
        TimeZone::get(name).expect("a zone that the system knows")
    }

    #[test]
    fn every_form_that_a_cli_writes_is_understood() {
        let now = ms("2026-11-30T18:00:00Z");
        let table = [
            ("You've hit your 5-hour limit · resets 8:23pm (UTC)", "2026-11-30T20:24:00Z"),
            ("You've hit your weekly limit · resets Dec 3, 8pm (Europe/Berlin)", "2026-12-03T19:01:00Z"),
            ("You've hit your weekly limit · resets Dec 3 at 8pm (America/New_York)", "2026-12-04T01:01:00Z"),
            ("limit reached ∙ resets 3pm (UTC)", "2026-12-01T15:01:00Z"),
            ("Claude AI usage limit reached|1796068800", "2026-11-30T20:00:00Z"),
            (
                "You’ve hit your usage limit. Visit https://x.example/a or try again at 8:33 PM.",
                "2026-11-30T20:34:00Z",
            ),
            ("credits or try again at Dec 1st, 2026 1:54 AM.", "2026-12-01T01:55:00Z"),
            ("Your quota will reset after 18h31m10s.", "2026-12-01T12:31:10Z"),
            ("Try again in 3 days 4 hours 9 minutes.", "2026-12-03T22:09:00Z"),
            ("Rate limit reached. Please try again in 11s. Visit x", "2026-11-30T18:00:11Z"),
            ("Please retry in 1.5s", "2026-11-30T18:00:01.500Z"),
            ("try again in 1 hour and 30 minutes", "2026-11-30T19:30:00Z"),
            ("resets 20:23 (UTC)", "2026-11-30T20:24:00Z"),
            ("resets Jan 2, 1am (UTC)", "2027-01-02T01:01:00Z"),
            (
                "You've hit your limit (5-hour) · resets 8:23pm (UTC) (see /usage for more)",
                "2026-11-30T20:24:00Z",
            ),
            ("Access resets at 8:23 PM UTC. (The Pro plan has more.)", "2026-11-30T20:24:00Z"),
            ("resets 8pm Europe/Berlin", "2026-11-30T19:01:00Z"),
        ];
        for (line, expected) in table {
            assert_eq!(reset_in_zone(line, now, &TimeZone::UTC), Some(ms(expected)), "{line}");
        }
    }

    #[test]
    fn what_is_not_understood_stays_unknown() {
        let now = ms("2026-11-30T18:00:00Z");
        for line in [
            "",
            "API Error: Request rejected (429) · limited",
            "exceeded retry limit, last status: 429 Too Many Requests",
            "Please wait and try again later.",
            "resets soon (UTC)",
            "resets 25:00 (UTC)",
            "resets 13pm (UTC)",
            "resets 8:23pm (Middle/Earth)",
            "resets 8:23pm PST",
            "resets 8:23 PM (PST)",
            "resets 8:23pm Pacific Time",
            "resets 8:23pm (Pacific Time)",
            "resets 8:23pm UTC+2",
            "resets 8:23pm +02:00",
            "resets Feb 31, 8pm (UTC)",
            "try again at Dec 1st, 2031 1:54 AM",
            "try again in 400 days",
            "try again in a moment",
            "reached|12",
            "retry 3",
        ] {
            assert_eq!(reset_in_zone(line, now, &TimeZone::UTC), None, "{line}");
        }
    }

    #[test]
    fn a_time_without_a_zone_is_local() {
        let now = ms("2026-07-01T12:00:00Z");
        let line = "or try again at 8:33 PM.";
        assert_eq!(reset_in_zone(line, now, &zone("America/New_York")), Some(ms("2026-07-02T00:34:00Z")));
        assert_eq!(reset_in_zone(line, now, &zone("Asia/Kolkata")), Some(ms("2026-07-01T15:04:00Z")));
        for line in [
            "resets 8:33pm (see /usage for UTC)",
            "The limit (weekly) resets 8:33pm · Upgrade",
            "resets 8:33 pm, and (UTC) is no time",
            "resets at 8:33 PM. UTC has nothing to do with it",
            "resets 8:33pm or visit https://x.example",
        ] {
            assert_eq!(
                reset_in_zone(line, now, &zone("Asia/Kolkata")),
                Some(ms("2026-07-01T15:04:00Z")),
                "{line}"
            );
        }
    }

    #[test]
    fn daylight_saving_moves_the_reset() {
        // In Berlin the clocks go from 2:00 to 3:00 on 29 March 2026 and from 3:00 to 2:00 on 25 October 2026.
        let berlin = zone("Europe/Berlin");
        let evening = ms("2026-03-28T22:00:00Z");
        assert_eq!(
            reset_in_zone("resets 6am (Europe/Berlin)", evening, &berlin),
            Some(ms("2026-03-29T04:01:00Z"))
        );
        assert_eq!(
            reset_in_zone("resets 2:30am (Europe/Berlin)", evening, &berlin),
            Some(ms("2026-03-29T01:31:00Z"))
        );
        let evening = ms("2026-10-24T21:00:00Z");
        assert_eq!(
            reset_in_zone("resets 6am (Europe/Berlin)", evening, &berlin),
            Some(ms("2026-10-25T05:01:00Z"))
        );
        assert_eq!(
            reset_in_zone("resets 2:30am (Europe/Berlin)", evening, &berlin),
            Some(ms("2026-10-25T00:31:00Z"))
        );
    }

    #[test]
    fn a_reset_of_this_minute_is_not_tomorrow() {
        let line = "resets 8:23pm (UTC)";
        assert_eq!(
            reset_in_zone(line, ms("2026-11-30T20:23:40Z"), &TimeZone::UTC),
            Some(ms("2026-11-30T20:24:00Z"))
        );
        assert_eq!(
            reset_in_zone(line, ms("2026-11-30T20:34:00Z"), &TimeZone::UTC),
            Some(ms("2026-12-01T20:24:00Z"))
        );
        let line = "resets 11:59pm (UTC)";
        assert_eq!(
            reset_in_zone(line, ms("2026-12-01T00:00:20Z"), &TimeZone::UTC),
            Some(ms("2026-12-01T00:00:00Z"))
        );
    }

    #[test]
    fn numbers_are_seconds_or_milliseconds() {
        let now = ms("2026-11-30T18:00:00Z");
        assert_eq!(epoch_ms(now / 1_000 + 3_600, now), Some(now + HOUR));
        assert_eq!(epoch_ms(now + HOUR, now), Some(now + HOUR));
        assert_eq!(epoch_ms(0, now), None);
        assert_eq!(epoch_ms(i64::MAX, now), None);
        assert_eq!(epoch_ms(i64::MIN, now), None);
        assert_eq!(after_ms(7_200_000.0, now), Some(now + 2 * HOUR));
        assert_eq!(after_ms(-1.0, now).or(after_ms(f64::NAN, now)).or(after_ms(1e300, now)), None);
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_a_reset_that_cannot_be_meant(line in "(resets|try again|retry|reset)? ?(in|at|after)? ?[0-9a-zA-Z:., ()|/é]{0,40}", now in 0_i64..4_000_000_000_000) {
            if let Some(reset) = reset_in_zone(&line, now, &TimeZone::UTC) {
                proptest::prop_assert!(is_sound(reset, now));
            }
        }
    }
}
