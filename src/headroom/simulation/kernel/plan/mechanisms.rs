//! The built-in mechanisms of the kernel: small ones, useful in any model.
//!
//! | kind | state | functions |
//! | --- | --- | --- |
//! | `arm` | its position | `distance(position)`, `travel(position)`, `position()` |
//! | `curve` | none | `at(x)` |

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::simulation::kernel::plan::mechanism::{Function, Made, Mechanism, Unit};
use crate::simulation::kernel::random::stream::Stream;

/// Kinds that [`mechanism`] makes.
pub const KINDS: [&str; 2] = ["arm", "curve"];

/// Make a mechanism of the kernel; None if `kind` is none of [`KINDS`].
pub fn mechanism(kind: &str, parameters: &Value, _stream: Stream) -> Option<Made> {
    match kind {
        "arm" => Some(read(parameters).and_then(Arm::made)),
        "curve" => Some(read(parameters).and_then(Curve::made)),
        _ => None,
    }
}

/// Read parameters; missing ones are an empty object.
///
/// # Errors
///
/// Returns which of them is wrong.
pub fn read<Parameters: DeserializeOwned>(parameters: &Value) -> Result<Parameters, String> {
    let given = match parameters {
        Value::Null => Value::Object(serde_json::Map::new()),
        other => other.clone(),
    };
    serde_json::from_value(given).map_err(|error| error.to_string())
}

/// A head that moves along a line, as the arm of a disk over its cylinders does.
struct Arm {
    position: f64,
    speed: Option<f64>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct ArmParameters {
    /// Its position at time zero.
    #[serde(default)]
    start: f64,
    /// Distance that it covers per second.
    speed: Option<f64>,
}

const ARM: [Function; 3] = [
    Function {
        name: "distance",
        arguments: &["position"],
        unit: Unit::Number,
    },
    Function {
        name: "travel",
        arguments: &["position"],
        unit: Unit::Seconds,
    },
    Function {
        name: "position",
        arguments: &[],
        unit: Unit::Number,
    },
];

impl Arm {
    fn made(given: ArmParameters) -> Made {
        match given.speed {
            Some(speed) if speed.is_nan() || speed <= 0.0 => {
                Err(format!("speed is {speed}, which is not above zero"))
            }
            speed => Ok(Box::new(Self {
                position: given.start,
                speed,
            })),
        }
    }

    fn go(&mut self, position: f64) -> f64 {
        let distance = (position - self.position).abs();
        self.position = position;
        distance
    }
}

impl Mechanism for Arm {
    fn functions(&self) -> &'static [Function] {
        &ARM
    }

    fn call(&mut self, function: usize, _now_s: f64, arguments: &[f64]) -> Result<f64, String> {
        match (function, arguments, self.speed) {
            (0, &[position], _) => Ok(self.go(position)),
            (1, &[position], Some(speed)) => Ok(self.go(position) / speed),
            (1, _, None) => Err("the arm was given no speed".to_owned()),
            _ => Ok(self.position),
        }
    }
}

/// A function that is a line between each two points.
struct Curve {
    points: Vec<(f64, f64)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CurveParameters {
    /// Pairs of x and y, x ascending.
    points: Vec<(f64, f64)>,
}

const CURVE: [Function; 1] = [Function {
    name: "at",
    arguments: &["x"],
    unit: Unit::Number,
}];

impl Curve {
    fn made(given: CurveParameters) -> Made {
        let points = given.points;
        if points.len() < 2 || !points.is_sorted_by(|one, next| one.0 < next.0) {
            return Err("points are not two or more with ascending x".to_owned());
        }
        Ok(Box::new(Self { points }))
    }
}

impl Mechanism for Curve {
    fn functions(&self) -> &'static [Function] {
        &CURVE
    }

    fn call(&mut self, _function: usize, _now_s: f64, arguments: &[f64]) -> Result<f64, String> {
        let (x, points) = (arguments[0], &self.points);
        let (first, last) = (points[0].0, points[points.len() - 1].0);
        if !(first..=last).contains(&x) {
            return Err(format!("the curve is known from {first} to {last}"));
        }
        let after = points
            .partition_point(|one| one.0 <= x)
            .min(points.len() - 1);
        let ((left, low), (right, high)) = (points[after - 1], points[after]);
        Ok(low + (high - low) * ((x - left) / (right - left)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::simulation::kernel::random::stream;

    fn made(kind: &str, parameters: &Value) -> Made {
        mechanism(kind, parameters, stream::open(1, 2)).expect("the kind is known")
    }

    fn ask(mechanism: &mut dyn Mechanism, function: usize, arguments: &[f64]) -> f64 {
        mechanism.call(function, 0.0, arguments).expect("an answer")
    }

    #[test]
    #[allow(clippy::float_cmp, reason = "whole numbers are exact")]
    fn an_arm_goes_from_where_it_stands() {
        let mut arm = made("arm", &json!({"start": 10.0, "speed": 4.0})).expect("right");
        assert_eq!(ask(&mut *arm, 0, &[4.0]), 6.0);
        assert_eq!(ask(&mut *arm, 1, &[24.0]), 5.0);
        assert_eq!(ask(&mut *arm, 2, &[]), 24.0);
    }

    #[test]
    #[allow(clippy::float_cmp, reason = "the numbers are exact")]
    fn a_curve_goes_through_its_points_and_straight_between_them() {
        let points = json!({"points": [[0.0, 1.0], [2.0, 5.0], [4.0, 5.5]]});
        let mut curve = made("curve", &points).expect("right");
        for (x, y) in [(0.0, 1.0), (1.0, 3.0), (2.0, 5.0), (3.0, 5.25), (4.0, 5.5)] {
            assert_eq!(ask(&mut *curve, 0, &[x]), y);
        }
        assert!(curve.call(0, 0.0, &[4.1]).is_err());
        assert!(curve.call(0, 0.0, &[f64::NAN]).is_err());
    }

    #[test]
    fn wrong_parameters_are_told() {
        let wrong = [
            ("arm", json!({"speed": 0.0})),
            ("arm", json!({"sped": 1.0})),
            ("curve", json!({"points": [[0.0, 1.0]]})),
            ("curve", json!({"points": [[1.0, 1.0], [1.0, 2.0]]})),
            ("curve", Value::Null),
        ];
        for (kind, parameters) in wrong {
            assert!(made(kind, &parameters).is_err(), "{kind} {parameters}");
        }
        assert!(mechanism("hand", &Value::Null, stream::open(1, 2)).is_none());
    }

    #[test]
    fn every_kind_is_made_by_its_name() {
        for kind in KINDS {
            assert!(mechanism(kind, &Value::Null, stream::open(1, 2)).is_some());
        }
    }
}
