//! Currents of an ocean of two layers, driven by wind: the quasi-geostrophic equations.
//!
//! With layers i = 1 (upper) and 3 (lower) of depths Hᵢ, stream functions ψᵢ and vorticities
//! ζᵢ = ∇²ψᵢ, a step of leapfrog advances ∂ζᵢ/∂t = gᵢ + stretching, where
//! gᵢ = J(ζᵢ, ψᵢ) - β ∂ψᵢ/∂x + A ∇²ζᵢ, plus wind above and minus bottom drag below. Stretching
//! cancels in the barotropic mode, ∇² ∂B/∂t = (H₁ g₁ + H₃ g₃) / H, and becomes λ² in the baroclinic
//! one, (∇² - λ²) ∂T/∂t = g₁ - g₃ + λ² J(ψ₃, ψ₁), of T = ψ₁ - ψ₃. On the boundary ζᵢ and B are 0,
//! and T is uniform, so that its integral stays 0: the layers exchange no water.
//!
//! Sources: Holland (1978), *The role of mesoscale eddies in the general circulation of the ocean*;
//! Arakawa (1966), *Computational design for long-term numerical integration* (the Jacobian J).

#![allow(unsafe_code, reason = "rows of grids are slices of shared memory")]

use std::f64::consts::TAU;

use super::super::watch::Watch;
use super::grid::{Grid, Rows};
use super::solver::RING;
use super::{BAROCLINIC, BAROTROPIC, Ocean, Partial};

// The basin of Holland (1978): depths (m), Coriolis parameter (1/s) and its gradient (1/m/s),
// reduced gravity (m/s²), lateral viscosity (m²/s), bottom drag (1/s), wind stress over the density
// of water (m²/s²).
const DEPTHS: [f64; 2] = [1000.0, 4000.0];
const DEPTH: f64 = DEPTHS[UPPER] + DEPTHS[LOWER];
const CORIOLIS: f64 = 9.3e-5;
const BETA: f64 = 2e-11;
const REDUCED_GRAVITY: f64 = 0.02;
const VISCOSITY: f64 = 330.0;
const BOTTOM_DRAG: f64 = 1e-7;
const WIND: f64 = 1e-4;

/// λ² (1/m²): the inverse square of the radius of deformation.
pub const SCREENING: f64 =
    CORIOLIS * CORIOLIS * DEPTH / (REDUCED_GRAVITY * DEPTHS[UPPER] * DEPTHS[LOWER]);
/// Stream function of a layer: B plus this times T.
const SHARES: [f64; 2] = [DEPTHS[LOWER] / DEPTH, -DEPTHS[UPPER] / DEPTH];

/// The upper layer.
pub const UPPER: usize = 0;
/// The lower layer.
pub const LOWER: usize = 1;

// Instructions that are neither loads nor stores; an operation on a number in memory is its load.
/// Three operations on numbers, and control of the loop.
const OF_CURVATURE: u32 = 6;
/// Thirty-two operations on numbers, of which six have a load, and control of the loop.
const OF_JACOBIAN: u32 = 29;
/// Twenty-five operations on numbers, and control of the loop.
const OF_SOURCES: u32 = 28;
/// Control of the loop.
const OF_SUM: u32 = 3;
/// Nine operations on numbers, and control of the loop.
const OF_ADVANCE: u32 = 12;

/// Check that leapfrog is stable with a spacing (m), a time step (s) and a width (m) of the basin.
///
/// # Errors
///
/// The limit that the time step exceeds.
pub fn check_stability(spacing: f64, time_step: f64, width: f64) -> Result<(), String> {
    let viscous = spacing * spacing / (8.0 * VISCOSITY);
    // The longest Rossby wave of the basin is the fastest.
    let planetary = 2.0 * std::f64::consts::SQRT_2 * std::f64::consts::PI / (BETA * width);
    let limit = viscous.min(planetary);
    if time_step > limit {
        return Err(format!(
            "an ocean of {width} m with a point every {spacing} m is unstable with time steps of \
             {time_step} s; use at most {limit:.0} s"
        ));
    }
    Ok(())
}

impl Ocean {
    /// Bring a thread's parts to rest, and ask the solver for the baroclinic mode that is 1 on the
    /// boundary: 1 plus the solution of (∇² - λ²) q = λ².
    pub(super) fn rest<W: Watch>(&self, thread: usize, watch: &mut W) {
        let fields = self.streams.iter().chain(&self.vorticities).flatten();
        for field in fields.chain(&self.tendencies) {
            field.fill(thread, 0.0, watch);
        }
        let (rows, columns) = (self.wind.rows, self.wind.columns);
        let (top, _) = self.wind.origin(thread);
        let wave = TAU / (self.wind.interior() + 1) as f64;
        for row in 1..=rows {
            // Minus the gradient of the stress -WIND cos(2πy), two gyres.
            let curl = -WIND * wave / self.spec.spacing_m * libm::sin(wave * (top + row) as f64);
            for column in 1..=columns {
                self.wind
                    .set(thread, (row, column), curl / DEPTHS[UPPER], watch);
                self.sources[BAROCLINIC].set(thread, (row, column), SCREENING, watch);
            }
        }
        let squares = (rows * columns) as f64 * SCREENING * SCREENING;
        self.note(thread, Partial::Source(BAROCLINIC), squares, watch);
    }

    /// Keep the mode that the solver found.
    pub(super) fn keep<W: Watch>(&self, thread: usize, watch: &mut W) {
        let tendency = &self.tendencies[BAROCLINIC];
        let (rows, columns) = tendency.with_boundary(thread);
        let mut integral = 0.0;
        for row in rows {
            for column in columns.clone() {
                let value = 1.0 + tendency.get(thread, row, column, watch);
                self.uniform_mode.set(thread, (row, column), value, watch);
                let share = share(row, tendency.rows) * share(column, tendency.columns);
                integral += share * value;
            }
        }
        // The first step's solutions begin from rest, too.
        tendency.fill(thread, 0.0, watch);
        self.note(thread, Partial::UniformMode, integral, watch);
    }

    /// Set the vorticity of a thread's parts.
    pub(super) fn vorticity<W: Watch>(&self, step: usize, thread: usize, watch: &mut W) {
        let inverse = 1.0 / (self.spec.spacing_m * self.spec.spacing_m);
        for layer in [UPPER, LOWER] {
            let stream = &self.streams[layer][step % 2];
            let vorticity = &self.vorticities[layer][step % 2];
            stream.fetch(thread, RING, watch);
            for row in 1..=stream.rows {
                // SAFETY: threads read the stream function in this phase.
                let stream_rows = unsafe { stream.around(thread, row) };
                // SAFETY: no other thread accesses this part of the vorticity in this phase.
                let mut line = unsafe { vorticity.line(thread, row) };
                for column in 1..=stream.columns {
                    let value = inverse * stream_rows.curvature(column, watch);
                    watch.compute(OF_CURVATURE);
                    line.set(column, value, watch);
                }
            }
        }
    }

    /// Set the sources of both modes of a thread's parts.
    pub(super) fn sources<W: Watch>(&self, step: usize, thread: usize, watch: &mut W) {
        let now = step % 2;
        let [upper, lower] = [&self.streams[UPPER][now], &self.streams[LOWER][now]];
        for layer in [UPPER, LOWER] {
            self.vorticities[layer][now].fetch(thread, RING, watch);
        }
        let pairs = [
            (&self.vorticities[UPPER][now], upper),
            (&self.vorticities[LOWER][now], lower),
            (lower, upper),
        ];
        for (result, (one, other)) in self.jacobians.iter().zip(pairs) {
            self.jacobian(result, one, other, thread, watch);
        }
        self.add_sources(now, thread, watch);
    }

    /// Set the Jacobian ∂(one, other)/∂(x, y) of a thread's parts.
    pub(super) fn jacobian<W: Watch>(
        &self,
        result: &Grid,
        one: &Grid,
        other: &Grid,
        thread: usize,
        watch: &mut W,
    ) {
        let inverse = 1.0 / (12.0 * self.spec.spacing_m * self.spec.spacing_m);
        for row in 1..=result.rows {
            // SAFETY: threads read these grids in this phase.
            let (one, other) = unsafe { (one.around(thread, row), other.around(thread, row)) };
            // SAFETY: no other thread accesses this part of the result in this phase.
            let mut line = unsafe { result.line(thread, row) };
            for column in 1..=result.columns {
                let value = inverse * arakawa(&one, &other, column, watch);
                watch.compute(OF_JACOBIAN);
                line.set(column, value, watch);
            }
        }
    }

    /// Add up all terms of the sources.
    fn add_sources<W: Watch>(&self, now: usize, thread: usize, watch: &mut W) {
        let mut squares = [0.0; 2];
        for row in 1..=self.wind.rows {
            let [upper, lower] = [UPPER, LOWER].map(|layer| {
                let stream = &self.streams[layer][now];
                let before = &self.vorticities[layer][1 - now];
                // SAFETY: threads read these grids in this phase.
                unsafe { (stream.around(thread, row), before.around(thread, row)) }
            });
            for column in 1..=self.wind.columns {
                let place = (row, column);
                let wind = self.wind.get(thread, row, column, watch);
                let above = wind + self.change(UPPER, upper, thread, place, watch);
                let drag = BOTTOM_DRAG * lower.1.get(1, column, watch);
                let below = self.change(LOWER, lower, thread, place, watch) - drag;
                let stretching = SCREENING * self.jacobians[2].get(thread, row, column, watch);
                let mixed = (DEPTHS[UPPER] * above + DEPTHS[LOWER] * below) / DEPTH;
                watch.compute(OF_SOURCES);
                for (mode, value) in [mixed, above - below + stretching].into_iter().enumerate() {
                    squares[mode] += value * value;
                    self.sources[mode].set(thread, place, value, watch);
                }
            }
        }
        for mode in [BAROTROPIC, BAROCLINIC] {
            self.note(thread, Partial::Source(mode), squares[mode], watch);
        }
    }

    /// Return the terms that both layers have: advection, the change of the Coriolis parameter, and
    /// friction, which would be unstable if it were not that of the step before.
    #[inline]
    fn change<W: Watch>(
        &self,
        layer: usize,
        (stream, before): (Rows<'_>, Rows<'_>),
        thread: usize,
        (row, column): (usize, usize),
        watch: &mut W,
    ) -> f64 {
        let spacing = self.spec.spacing_m;
        let (eastward, across) = (BETA / (2.0 * spacing), VISCOSITY / (spacing * spacing));
        let slope = stream.get(1, column + 1, watch) - stream.get(1, column - 1, watch);
        let advection = self.jacobians[layer].get(thread, row, column, watch);
        advection - eastward * slope + across * before.curvature(column, watch)
    }

    /// Integrate the baroclinic tendency over a thread's part.
    pub(super) fn integrate<W: Watch>(&self, thread: usize, watch: &mut W) {
        let tendency = &self.tendencies[BAROCLINIC];
        let mut integral = 0.0;
        for row in 1..=tendency.rows {
            for column in 1..=tendency.columns {
                integral += tendency.get(thread, row, column, watch);
                watch.compute(OF_SUM);
            }
        }
        self.note(thread, Partial::Tendency, integral, watch);
    }

    /// Advance the stream function of a thread's parts.
    pub(super) fn advance<W: Watch>(&self, step: usize, thread: usize, watch: &mut W) {
        let integral = self.total(Partial::Tendency, watch);
        let uniform = -integral / self.total(Partial::UniformMode, watch);
        // The first step has no step before: Euler's method.
        let span = if step == 0 { 1.0 } else { 2.0 } * self.spec.time_step_s;
        let (rows, columns) = self.uniform_mode.with_boundary(thread);
        for row in rows {
            for column in columns.clone() {
                let barotropic = self.tendencies[BAROTROPIC].get(thread, row, column, watch);
                let mode = self.uniform_mode.get(thread, row, column, watch);
                let found = self.tendencies[BAROCLINIC].get(thread, row, column, watch);
                let baroclinic = found + uniform * mode;
                for layer in [UPPER, LOWER] {
                    let stream = &self.streams[layer][1 - step % 2];
                    let change = span * (barotropic + SHARES[layer] * baroclinic);
                    let value = stream.get(thread, row, column, watch) + change;
                    stream.set(thread, (row, column), value, watch);
                }
                watch.compute(OF_ADVANCE);
            }
        }
    }

    /// Return the integral of T relative to that of its size, after the last step.
    pub(super) fn exchanged(&self) -> f64 {
        let [upper, lower] = [UPPER, LOWER].map(|layer| self.final_stream(layer).whole());
        let own = upper.len() - 2;
        let (mut integral, mut size) = (0.0, 0.0);
        for (row, (upper, lower)) in upper.iter().zip(&lower).enumerate() {
            for (column, (upper, lower)) in upper.iter().zip(lower).enumerate() {
                let value = share(row, own) * share(column, own) * (upper - lower);
                integral += value;
                size += value.abs();
            }
        }
        integral.abs() / size
    }
}

/// Return the share of a point's cell that is inside of the boundary, in one direction.
fn share(place: usize, own: usize) -> f64 {
    if (1..=own).contains(&place) { 1.0 } else { 0.5 }
}

/// Return 12 times the squared spacing times Arakawa's Jacobian, which keeps energy and enstrophy.
#[inline]
fn arakawa<W: Watch>(a: &Rows<'_>, b: &Rows<'_>, column: usize, watch: &mut W) -> f64 {
    let mut around = |rows: &Rows<'_>| {
        [
            (0, 0),
            (0, 1),
            (0, 2),
            (1, 0),
            (1, 2),
            (2, 0),
            (2, 1),
            (2, 2),
        ]
        .map(|(line, place)| rows.get(line, column + place - 1, watch))
    };
    let [a_sw, a_s, a_se, a_w, a_e, a_nw, a_n, a_ne] = around(a);
    let [b_sw, b_s, b_se, b_w, b_e, b_nw, b_n, b_ne] = around(b);
    let central = (a_e - a_w) * (b_n - b_s) - (a_n - a_s) * (b_e - b_w);
    let first =
        a_e * (b_ne - b_se) - a_w * (b_nw - b_sw) - a_n * (b_ne - b_nw) + a_s * (b_se - b_sw);
    let second =
        b_n * (a_ne - a_nw) - b_s * (a_se - a_sw) - b_e * (a_ne - a_se) + b_w * (a_nw - a_sw);
    central + first + second
}
