//! Tree, zones and motion against direct sums, closed forms and conservation laws.

use super::super::run::{run_phases, run_threads};
use super::super::watch::Silent;
use super::check::initial_energy;
use super::records::{CELL_COST, SLOTS};
use super::tree::{Cube, ROOT, Slot};
use super::*;

fn spec(bodies: usize, steps: usize, tolerance: f64) -> Spec {
    Spec {
        bodies,
        steps,
        tolerance,
        ..Spec::default()
    }
}

fn ran(spec: Spec, threads: usize) -> Barnes {
    let barnes = Barnes::new(spec, threads, 11).expect("sound");
    run_threads(&barnes);
    barnes
}

fn now(barnes: &Barnes) -> Vec<Body> {
    let result = barnes.result();
    let bodies = barnes.input.iter().zip(result.as_chunks::<6>().0);
    let body = |(body, values): (&Body, &[f64; 6])| Body {
        mass: body.mass,
        position: [values[0], values[1], values[2]],
        velocity: [values[3], values[4], values[5]],
    };
    bodies.map(body).collect()
}

/// Oracle: a tolerance of 0 opens every cell.
#[test]
fn without_tolerance_forces_are_direct_sums() {
    let barnes = ran(spec(200, 3, 0.0), 3);
    let error = barnes.force_error(&now(&barnes));
    assert!(error < 1e-12, "{error}");
}

#[test]
fn forces_come_nearer_to_direct_sums_as_the_tolerance_falls() {
    let mut last = f64::INFINITY;
    for tolerance in [1.0, 0.7, 0.5, 0.3, 0.1] {
        let barnes = ran(spec(1000, 1, tolerance), 2);
        barnes.verify().expect("right");
        let error = barnes.force_error(&now(&barnes));
        assert!(error < last / 1.5, "{error} at {tolerance}, {last} before");
        last = error;
    }
}

/// The tree does not depend on the order of insertion, and sums follow the tree.
#[test]
fn threads_change_no_bit() {
    let one = ran(spec(600, 4, 1.0), 1);
    one.verify().expect("right");
    for threads in [2, 3, 8] {
        assert_eq!(ran(spec(600, 4, 1.0), threads).result(), one.result());
    }
}

/// Oracle: two bodies on a circle, turned by the angle that their attraction gives.
#[test]
fn two_bodies_turn_around_their_centre() {
    let sizes = Spec {
        bodies: 2,
        steps: 400,
        time_step: 0.01,
        ..Spec::default()
    };
    // Masses of 1/2 at a distance of 1: each has an acceleration of half of this power.
    let rate = f64::sqrt((1.0 + 0.05_f64.powi(2)).powf(-1.5));
    let body = |side: f64| Body {
        mass: 0.5,
        position: [0.5 * side, 0.0, 0.0],
        velocity: [0.0, 0.5 * side * rate, 0.0],
    };
    let barnes = Barnes::of_bodies(sizes, 2, vec![body(1.0), body(-1.0)], 4).expect("sound");
    run_phases(&barnes, &mut [Silent; 2], |_, _| {});
    let (sine, cosine) = (4.0 * rate).sin_cos();
    for (body, side) in now(&barnes).iter().zip([0.5, -0.5]) {
        for (part, wanted) in body
            .position
            .into_iter()
            .zip([side * cosine, side * sine, 0.0])
        {
            assert!((part - wanted).abs() < 1e-4, "{part} instead of {wanted}");
        }
    }
    barnes.verify().expect("right");
}

/// Bodies at one point never part, and a store that is empty splits no more slots: both stay in
/// lists, in the order of their numbers.
#[test]
fn bodies_that_cannot_be_parted_stay_in_lists() {
    let mut together = plummer(64, 5);
    for body in &mut together[20..40] {
        body.position = [0.25; 3];
    }
    for (bodies, chunks) in [(together, 100), (plummer(64, 5), 0), (plummer(400, 5), 2)] {
        let sizes = spec(bodies.len(), 2, 0.0);
        let barnes = Barnes::of_bodies(sizes, 2, bodies, chunks).expect("sound");
        run_threads(&barnes);
        assert!(barnes.force_error(&now(&barnes)) < 1e-12);
        let mut seen = vec![0; barnes.input.len()];
        for thread in 0..2 {
            for place in barnes.own_bodies(thread, &mut Silent) {
                let body: u64 = barnes.lists[thread].get(place, &mut Silent);
                seen[body as usize] += 1;
            }
        }
        assert!(seen.iter().all(|times| *times == 1), "{seen:?}");
    }
}

/// Visit the cells below and at one; return the bodies in it.
fn check_cell(barnes: &Barnes, cell: usize, cube: Cube, depth: usize) -> Vec<usize> {
    let mut bodies = Vec::new();
    for octant in 0..8 {
        match Slot::of_word(barnes.cells.get(cell, SLOTS + octant, &mut Silent)) {
            Slot::Empty => {}
            Slot::Body(body) => bodies.push(body),
            Slot::Cell(inner) => {
                let inner = check_cell(barnes, inner, cube.inner(octant), depth + 1);
                assert!(inner.len() > 1, "a cell for one body");
                bodies.extend(inner);
            }
        }
    }
    let (mut mass, mut cost) = (0.0, 0.0);
    for &body in &bodies {
        let position = barnes.bodies.vector(body, POSITION, &mut Silent);
        for (part, centre) in position.into_iter().zip(cube.centre) {
            assert!(
                (part - centre).abs() <= cube.size / 2.0 * (1.0 + 1e-12),
                "depth {depth}"
            );
        }
        mass += barnes.bodies.get::<f64, _>(body, MASS, &mut Silent);
        cost += barnes.bodies.get::<f64, _>(body, BODY_COST, &mut Silent);
    }
    let summary: [f64; 2] =
        [MASS, CELL_COST].map(|field| barnes.cells.get(cell, field, &mut Silent));
    assert!((summary[0] - mass).abs() < 1e-12 && (summary[1] - cost).abs() < 0.5);
    bodies
}

#[test]
fn cells_have_the_bodies_masses_and_costs_of_their_cubes() {
    let barnes = Barnes::new(spec(500, 2, 1.0), 4, 3).expect("sound");
    run_phases(&barnes, &mut [Silent; 4], |phase, _| {
        if phase > 0 && (phase - 1) % IN_STEP == 2 {
            let cube = barnes.cube(&mut Silent);
            let mut bodies = check_cell(&barnes, ROOT, cube, 0);
            bodies.sort_unstable();
            assert_eq!(bodies, (0..500).collect::<Vec<_>>());
        }
    });
}

#[test]
fn zones_have_each_body_once_and_equal_costs() {
    let barnes = Barnes::new(spec(800, 3, 1.0), 5, 3).expect("sound");
    run_phases(&barnes, &mut [Silent; 5], |phase, _| {
        if phase > 0 && (phase - 1) % IN_STEP == 3 {
            let total: f64 = barnes.cells.get(ROOT, CELL_COST, &mut Silent);
            let cost = |body| barnes.bodies.get::<f64, _>(body, BODY_COST, &mut Silent);
            let most = (0..800).map(cost).fold(0.0, f64::max);
            let mut seen = vec![false; 800];
            for thread in 0..5 {
                let mut zone = 0.0;
                for place in barnes.own_bodies(thread, &mut Silent) {
                    let body = barnes.lists[thread].get::<u64>(place, &mut Silent) as usize;
                    assert!(!std::mem::replace(&mut seen[body], true), "{body} twice");
                    zone += cost(body);
                }
                assert!((zone - total / 5.0).abs() <= most, "{zone} of {total}");
            }
            assert!(seen.into_iter().all(|seen| seen));
        }
    });
}

/// Closed forms of the model: energy -1/4, twice as much potential as kinetic energy, and half of
/// the mass within 0.766 (the cut of the outermost 0.1% is smaller than the sampling error).
#[test]
fn the_cluster_is_a_plummer_model_in_equilibrium() {
    let bodies = plummer(4096, 9);
    let energy = initial_energy(&bodies, 1e-9);
    let square = |vector: Vector| -> f64 { vector.iter().map(|part| part * part).sum() };
    let kinetic: f64 = bodies
        .iter()
        .map(|body| body.mass * square(body.velocity) / 2.0)
        .sum();
    assert!((energy + 0.25).abs() < 0.01, "{energy}");
    assert!((kinetic - 0.25).abs() < 0.01, "{kinetic}");
    let mut radii: Vec<f64> = bodies
        .iter()
        .map(|body| square(body.position).sqrt())
        .collect();
    radii.sort_by(f64::total_cmp);
    assert!((radii[2048] - 0.766).abs() < 0.04, "{}", radii[2048]);
    for axis in 0..3 {
        let momentum: f64 = bodies
            .iter()
            .map(|body| body.mass * body.velocity[axis])
            .sum();
        let centre: f64 = bodies
            .iter()
            .map(|body| body.mass * body.position[axis])
            .sum();
        assert!(momentum.abs() < 1e-12 && centre.abs() < 1e-12);
    }
}

#[test]
fn a_wrong_body_is_found() {
    let barnes = ran(spec(300, 2, 0.5), 2);
    barnes.verify().expect("right");
    barnes
        .bodies
        .set(0, records::ACCELERATION, 100.0, &mut Silent);
    assert!(
        barnes
            .verify()
            .is_err_and(|why| why.contains("error of the forces"))
    );
    barnes.bodies.set(0, VELOCITY, f64::NAN, &mut Silent);
    assert!(barnes.verify().is_err());
}

#[test]
fn impossible_sizes_are_refused_with_the_reason() {
    let refused = |change: fn(&mut Spec), threads| {
        let mut spec = Spec::default();
        change(&mut spec);
        Barnes::new(spec, threads, 1).expect_err("impossible")
    };
    assert!(refused(|spec| spec.bodies = 63, 1).contains("64 to 1048576 bodies"));
    assert!(refused(|spec| spec.bodies = 100, 128).contains("at least one for each thread"));
    assert!(refused(|spec| spec.steps = 0, 1).contains("1 to 10000"));
    assert!(refused(|spec| spec.softening = 0.0, 1).contains("both are above 0"));
    assert!(refused(|spec| spec.time_step = f64::INFINITY, 1).contains("both are above 0"));
    assert!(refused(|spec| spec.tolerance = f64::NAN, 1).contains("0 to 2"));
}
