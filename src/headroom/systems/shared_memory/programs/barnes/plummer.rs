//! Bodies of a Plummer model: a round cluster in equilibrium.
//!
//! Units: the gravitational constant and the total mass are 1, the total energy is -1/4.
//!
//! Source: Aarseth, Henon & Wielen (1974), *A comparison of numerical methods for the study of star
//! cluster dynamics*, appendix.

use std::f64::consts::{PI, TAU};

use rand::RngExt;

use super::Vector;
use crate::simulation::kernel::random::stream::{self, Stream};

const KEY: u64 = 0x706c_756d_6d65_7200;
/// Share of the mass inside of the outermost body: without it, that one may be anywhere.
const INNER_SHARE: f64 = 0.999;

/// A body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Body {
    /// Mass.
    pub mass: f64,
    /// Position.
    pub position: Vector,
    /// Velocity.
    pub velocity: Vector,
}

/// Return bodies of equal mass whose centre is at rest at the origin.
pub fn plummer(count: usize, seed: u64) -> Vec<Body> {
    let mut stream = stream::open(seed, KEY);
    let mut bodies: Vec<Body> = (0..count)
        .map(|_| draw(1.0 / count as f64, &mut stream))
        .collect();
    for axis in 0..3 {
        let mean = |of: fn(&Body) -> &Vector| {
            bodies.iter().map(|body| of(body)[axis]).sum::<f64>() / count as f64
        };
        let (position, velocity) = (mean(|body| &body.position), mean(|body| &body.velocity));
        for body in &mut bodies {
            body.position[axis] -= position;
            body.velocity[axis] -= velocity;
        }
    }
    bodies
}

fn draw(mass: f64, stream: &mut Stream) -> Body {
    let inner = INNER_SHARE * (1.0 - stream.random::<f64>());
    let radius = 1.0 / f64::sqrt(libm::pow(inner, -2.0 / 3.0) - 1.0);
    let escape = std::f64::consts::SQRT_2 * libm::pow(1.0 + radius * radius, -0.25);
    let speed = escape * draw_share(stream);
    // The model's own unit of length has an energy of -3π/64.
    let unit = 3.0 * PI / 16.0;
    Body {
        mass,
        position: direction(stream).map(|part| part * radius * unit),
        velocity: direction(stream).map(|part| part * speed / f64::sqrt(unit)),
    }
}

/// Draw a speed relative to that of escape: x has a density proportional to x² (1 - x²)^3.5.
fn draw_share(stream: &mut Stream) -> f64 {
    loop {
        let (share, height) = (stream.random::<f64>(), 0.1 * stream.random::<f64>());
        if height < share * share * libm::pow(1.0 - share * share, 3.5) {
            return share;
        }
    }
}

/// Draw a point of the unit sphere.
fn direction(stream: &mut Stream) -> Vector {
    let height = 2.0 * stream.random::<f64>() - 1.0;
    let (sine, cosine) = libm::sincos(TAU * stream.random::<f64>());
    let width = f64::sqrt(1.0 - height * height);
    [width * cosine, width * sine, height]
}
