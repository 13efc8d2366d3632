//! Checks of the motion against direct summation over all pairs of bodies.

use super::super::Check;
use super::super::watch::Silent;
use super::plummer::Body;
use super::records::{ACCELERATION, POSITION, VELOCITY};
use super::{Barnes, Vector};

/// Bodies whose force is compared: more would not change the mean error by much.
const SAMPLE: usize = 256;
/// Largest relative error of the forces at a tolerance of 1; it falls with the tolerance's square,
/// as the neglected quadrupoles do. Clusters of 64 bodies have up to 0.13, those of 4096 about 0.024.
const FORCE_ERROR: f64 = 0.2;
/// Largest momentum relative to that of all bodies, after a unit of time at a tolerance of 1:
/// attraction by cells is not mutual.
const MOMENTUM: f64 = 0.05;
/// Largest relative change of the energy, for steps that are short compared with encounters.
const ENERGY: f64 = 0.01;

impl Barnes {
    /// Compare forces with direct sums, and momentum and energy with those of the start.
    pub(super) fn check_motion(&self) -> Result<Check, String> {
        let now = self.bodies_now();
        let mut pulls: Vec<(Vector, f64)> = Vec::new();
        for body in 0..now.len() {
            pulls.push(pull(&now, body, self.spec.softening));
        }
        // Velocities are half a step behind.
        let half = self.spec.time_step / 2.0;
        let energy_now = now
            .iter()
            .zip(&pulls)
            .map(|(body, (acceleration, potential))| {
                let velocity =
                    [0, 1, 2].map(|axis| body.velocity[axis] + half * acceleration[axis]);
                energy(body.mass, velocity, *potential)
            });
        let energy_now: f64 = energy_now.sum();
        let before = initial_energy(&self.input, self.spec.softening);
        let time = self.spec.time_step * self.spec.steps as f64;
        let square = self.spec.tolerance * self.spec.tolerance;
        Check::of(vec![
            (
                "relative error of the forces",
                self.force_error(&now),
                FORCE_ERROR * square + 1e-9,
            ),
            ("momentum", momentum(&now), MOMENTUM * square * time + 1e-9),
            (
                "change of the energy",
                ((energy_now - before) / before).abs(),
                ENERGY,
            ),
        ])
    }

    fn bodies_now(&self) -> Vec<Body> {
        let now = |(number, body): (usize, &Body)| Body {
            mass: body.mass,
            position: self.bodies.vector(number, POSITION, &mut Silent),
            velocity: self.bodies.vector(number, VELOCITY, &mut Silent),
        };
        self.input.iter().enumerate().map(now).collect()
    }

    /// Return the root mean square error of the last accelerations of some bodies relative to that
    /// of their sizes.
    pub(super) fn force_error(&self, now: &[Body]) -> f64 {
        let back = |body: &Body| Body {
            position: [0, 1, 2]
                .map(|axis| body.position[axis] - self.spec.time_step * body.velocity[axis]),
            ..*body
        };
        let before: Vec<Body> = now.iter().map(back).collect();
        let (mut errors, mut sizes) = (0.0, 0.0);
        for body in (0..before.len()).step_by(before.len().div_ceil(SAMPLE)) {
            let found = self.bodies.vector(body, ACCELERATION, &mut Silent);
            let (wanted, _) = pull(&before, body, self.spec.softening);
            for (found, wanted) in found.into_iter().zip(wanted) {
                errors += (found - wanted).powi(2);
                sizes += wanted.powi(2);
            }
        }
        f64::sqrt(errors / sizes)
    }
}

/// Return the acceleration of a body, and the potential at its place.
fn pull(bodies: &[Body], body: usize, softening: f64) -> (Vector, f64) {
    let (mut acceleration, mut potential) = ([0.0; 3], 0.0);
    let own = bodies[body].position;
    for (other, source) in bodies.iter().enumerate() {
        if other != body {
            let way = [0, 1, 2].map(|axis| source.position[axis] - own[axis]);
            let square: f64 = way.iter().map(|part| part * part).sum();
            let inverse = 1.0 / f64::sqrt(square + softening * softening);
            potential -= source.mass * inverse;
            for (sum, part) in acceleration.iter_mut().zip(way) {
                *sum += source.mass * inverse.powi(3) * part;
            }
        }
    }
    (acceleration, potential)
}

/// Return the kinetic energy of a body, and its half of the potential energy.
fn energy(mass: f64, velocity: Vector, potential: f64) -> f64 {
    let square: f64 = velocity.iter().map(|part| part * part).sum();
    mass * (square + potential) / 2.0
}

/// Return the energy of bodies at rest and in motion.
pub fn initial_energy(bodies: &[Body], softening: f64) -> f64 {
    let energies = bodies
        .iter()
        .enumerate()
        .map(|(number, body)| energy(body.mass, body.velocity, pull(bodies, number, softening).1));
    energies.sum()
}

/// Return the size of the momentum relative to the sum of the sizes of all momenta.
fn momentum(bodies: &[Body]) -> f64 {
    let (mut sum, mut sizes) = ([0.0; 3], 0.0);
    for body in bodies {
        for (sum, part) in sum.iter_mut().zip(body.velocity) {
            *sum += body.mass * part;
        }
        sizes += body.mass * f64::sqrt(body.velocity.iter().map(|part| part * part).sum());
    }
    f64::sqrt(sum.iter().map(|part| part * part).sum()) / sizes
}
