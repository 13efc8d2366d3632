//! The seek curve: the time that the arm takes to move over a number of cylinders.
//!
//! Short seeks accelerate and brake, so their time grows with the root of the distance; long ones
//! coast, so it grows with the distance (Ruemmler & Wilkes 1994, IEEE Computer 27(3), *An
//! introduction to disk drive modeling*): `a + b sqrt(d)` up to a boundary, `c + e d` beyond it.
//! Here the two parts meet with the same value and the same slope, so three values of a data sheet
//! (next cylinder, mean over all pairs, full stroke) fix the curve.
//!
//! Invariant: the curve is 0 at 0, rises with the distance, and its mean over uniform pairs of
//! cylinders is the one that was requested.

/// A seek curve.
#[derive(Clone, Copy, Debug)]
pub struct SeekCurve {
    /// Constant of short seeks (s).
    short_s: f64,
    /// Factor of the root of the distance (s).
    root_s: f64,
    /// Distance (cylinders) beyond which seeks are long.
    boundary: f64,
}

/// Steps of the search for the boundary: each halves the interval.
const STEPS: u32 = 60;

impl SeekCurve {
    /// Return the curve through the time to the next cylinder, the mean, and the full stroke (s).
    ///
    /// # Errors
    ///
    /// No such curve has this mean: it must lie between about 1/3 (all of it linear) and 8/15 (all
    /// of it a root) of the way from the first to the last.
    pub fn through(
        single_s: f64,
        mean_s: f64,
        full_s: f64,
        cylinders: u32,
    ) -> Result<Self, String> {
        if !(0.0 <= single_s && single_s <= mean_s && mean_s <= full_s && full_s.is_finite()) {
            return Err(format!(
                "the seek to the next cylinder takes {single_s} s, a mean one {mean_s} s, the \
                 longest {full_s} s; give them rising"
            ));
        }
        let span = f64::from(cylinders.max(3) - 1);
        let curve = |boundary: f64| Self::meeting(single_s, full_s, span, boundary);
        let (mut low, mut high) = (1.0, span);
        let (least, most) = (curve(low).mean(span), curve(high).mean(span));
        let tolerance = 1e-9 * full_s.max(1e-12);
        if mean_s < least - tolerance || mean_s > most + tolerance {
            return Err(format!(
                "a mean seek of {mean_s} s does not fit {single_s} s for the next cylinder and \
                 {full_s} s for all of them; such a disk has {least:.6} s to {most:.6} s"
            ));
        }
        for _ in 0..STEPS {
            let middle = 0.5 * (low + high);
            if curve(middle).mean(span) < mean_s {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok(curve(0.5 * (low + high)))
    }

    /// Return the curve with a given boundary that meets the first and the last time.
    fn meeting(single_s: f64, full_s: f64, span: f64, boundary: f64) -> Self {
        let root = boundary.sqrt();
        let root_s = (full_s - single_s) / (root - 1.0 + (span - boundary) / (2.0 * root));
        Self {
            short_s: single_s - root_s,
            root_s,
            boundary,
        }
    }

    /// Return the time (s) of a seek over `distance` cylinders.
    pub fn time_s(&self, distance: u32) -> f64 {
        if distance == 0 {
            return 0.0;
        }
        self.at(f64::from(distance))
    }

    fn at(&self, distance: f64) -> f64 {
        let root = self.boundary.sqrt();
        if distance <= self.boundary {
            self.short_s + self.root_s * distance.sqrt()
        } else {
            let slope_s = self.root_s / (2.0 * root);
            self.short_s + self.root_s * root + slope_s * (distance - self.boundary)
        }
    }

    /// Return the mean (s) over uniform pairs on a line of length `span`: the density of the
    /// distance is `2 (span - d) / span^2`, so the integral has a closed form in both parts.
    fn mean(&self, span: f64) -> f64 {
        let (border, root) = (self.boundary, self.boundary.sqrt());
        let weight = |d: f64| 2.0 * d / span - (d / span) * (d / span);
        // Integrals of sqrt(d) and of d against the density, from 0.
        let roots = 2.0 / span * (2.0 / 3.0 * border * root)
            - 2.0 / (span * span) * (2.0 / 5.0 * border * border * root);
        let firsts = |d: f64| d * d / span - 2.0 * d * d * d / (3.0 * span * span);
        let slope_s = self.root_s / (2.0 * root);
        let start_s = self.short_s + self.root_s * root - slope_s * border;
        self.short_s * weight(border)
            + self.root_s * roots
            + start_s * (1.0 - weight(border))
            + slope_s * (firsts(span) - firsts(border))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Mean over all ordered pairs of cylinders, counted.
    fn counted_mean(curve: &SeekCurve, cylinders: u32) -> f64 {
        let all = f64::from(cylinders);
        let sum: f64 = (1..cylinders)
            .map(|d| 2.0 * f64::from(cylinders - d) * curve.time_s(d))
            .sum();
        sum / (all * all)
    }

    #[test]
    fn the_curve_has_the_three_figures_of_the_data_sheet() {
        let curve = SeekCurve::through(0.4e-3, 3.4e-3, 7.4e-3, 60_000).expect("a curve");
        assert!((curve.time_s(1) - 0.4e-3).abs() < 1e-9);
        assert!((curve.time_s(59_999) - 7.4e-3).abs() < 1e-9);
        // Pairs of the same cylinder take no time, which is all that is left out of the integral.
        assert!((counted_mean(&curve, 60_000) / 3.4e-3 - 1.0).abs() < 1e-3);
    }

    #[test]
    fn a_mean_that_no_curve_has_is_refused_with_the_means_that_some_have() {
        let said = SeekCurve::through(1e-3, 1.1e-3, 9e-3, 1000).expect_err("too small a mean");
        assert!(said.contains("such a disk has"), "{said}");
    }

    proptest! {
        /// The curve rises, without a step where its parts meet. With fewer than 1,300 cylinders
        /// even a curve that is all root has a mean below 0.52 of the way.
        #[test]
        fn a_longer_seek_takes_longer(share in 0.36_f64..0.52, cylinders in 1_300_u32..100_000) {
            let (single, full) = (1e-3, 10e-3);
            let mean = single + share * (full - single);
            let curve = SeekCurve::through(single, mean, full, cylinders).expect("a curve");
            let mut last = 0.0;
            for d in (1..cylinders).step_by((cylinders / 97) as usize) {
                let time = curve.time_s(d);
                prop_assert!(time > last - 1e-15, "{time} after {last} at {d}");
                last = time;
            }
            let at = curve.boundary;
            prop_assert!((curve.at(at * (1.0 + 1e-9)) - curve.at(at)).abs() < 1e-9);
        }
    }
}
