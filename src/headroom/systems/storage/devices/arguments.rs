//! Arguments of calls from models: plain numbers that represent bytes and positions.

/// Largest whole number that a plain number holds exactly.
const LARGEST: f64 = 9_007_199_254_740_992.0;

/// Return `value` as a whole number; `word` names it.
///
/// # Errors
///
/// It is negative, no number, or too large to be whole.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value was compared with the range before"
)]
pub fn whole(value: f64, word: &str) -> Result<u64, String> {
    if (0.0..=LARGEST).contains(&value) {
        Ok(value as u64)
    } else {
        Err(format!(
            "the {word} is {value}, but must be a whole number of 0 or more"
        ))
    }
}

/// Return a range of `length` bytes from `offset` on, inside of `capacity` bytes.
///
/// # Errors
///
/// It is empty or leaves the device.
pub fn range(offset: f64, length: f64, capacity: u64) -> Result<(u64, u64), String> {
    let (start, length) = (whole(offset, "offset")?, whole(length, "length")?);
    if length == 0 {
        return Err("the length is 0; a request moves at least a byte".into());
    }
    if start + length > capacity {
        return Err(format!(
            "{length} B at {start} leave the device, which has {capacity} B"
        ));
    }
    Ok((start, start + length))
}

/// Return an index below `count`; `word` names the thing.
///
/// # Errors
///
/// There is no such index.
pub fn index(value: f64, count: usize, word: &str) -> Result<usize, String> {
    let found = usize::try_from(whole(value, word)?).unwrap_or(usize::MAX);
    if found < count {
        Ok(found)
    } else {
        Err(format!(
            "{word} {found} does not exist: there are {count}, counted from 0"
        ))
    }
}

/// Refuse a parameter that is not above 0.
///
/// # Errors
///
/// Names the parameter.
pub fn above_zero(parameters: &[(&str, f64)]) -> Result<(), String> {
    match parameters
        .iter()
        .find(|(_, value)| !(*value > 0.0 && value.is_finite()))
    {
        Some((name, value)) => Err(format!("{name} is {value}; give a number above 0")),
        None => Ok(()),
    }
}

/// Refuse a parameter below 0.
///
/// # Errors
///
/// Names the parameter.
pub fn not_negative(parameters: &[(&str, f64)]) -> Result<(), String> {
    match parameters
        .iter()
        .find(|(_, value)| !(*value >= 0.0 && value.is_finite()))
    {
        Some((name, value)) => Err(format!("{name} is {value}; give 0 or more")),
        None => Ok(()),
    }
}
