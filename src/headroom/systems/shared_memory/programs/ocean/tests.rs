//! The solver and the dynamics against closed forms, conservation laws and plain computations.

use std::f64::consts::PI;

use super::super::run::{run_phases, run_threads};
use super::super::watch::Silent;
use super::grid::Points;
use super::solver::RING;
use super::*;
use crate::systems::shared_memory::programs::uniform;

fn ocean(grid: usize, threads: usize) -> Ocean {
    let spec = Spec {
        grid,
        ..Spec::default()
    };
    Ocean::new(spec, threads).expect("sound")
}

/// Set the points inside of the boundary.
fn set(ocean: &Ocean, grid: &Grid, value: impl Fn(usize, usize) -> f64) {
    for thread in 0..ocean.threads() {
        let (top, left) = grid.origin(thread);
        for row in 1..=grid.rows {
            for column in 1..=grid.columns {
                grid.set(
                    thread,
                    (row, column),
                    value(top + row, left + column),
                    &mut Silent,
                );
            }
        }
    }
}

/// Solve for a mode with its present source; return the number of cycles.
fn solve(ocean: &Ocean, mode: usize) -> usize {
    let source = ocean.problem(mode).source;
    for thread in 0..ocean.threads() {
        let mut squares = 0.0;
        for row in 1..=source.rows {
            for column in 1..=source.columns {
                squares += source.get(thread, row, column, &mut Silent).powi(2);
            }
        }
        ocean.note(thread, Partial::Source(mode), squares, &mut Silent);
    }
    let solution = 1 - mode;
    if mode == BAROTROPIC {
        ocean.schedule.end(0, 0);
    }
    for cycle in 0.. {
        for stage in 0..ocean.schedule.stages() {
            let stage = ocean.schedule.stage(stage);
            for thread in 0..ocean.threads() {
                ocean.solve((solution, cycle), stage, thread, &mut Silent);
            }
            if let Some(cycles) = ocean.schedule.cycles(solution) {
                return cycles;
            }
        }
    }
    unreachable!("solutions end")
}

/// Oracle: sines are eigenfunctions of the five-point operator.
#[test]
fn the_solver_finds_the_closed_form_of_a_wave() {
    for (threads, mode) in [(1, BAROTROPIC), (4, BAROTROPIC), (2, BAROCLINIC)] {
        let ocean = ocean(66, threads);
        let angle = PI / 65.0;
        let wave = |row: usize, column: usize| {
            (3.0 * angle * row as f64).sin() * (2.0 * angle * column as f64).sin()
        };
        set(&ocean, &ocean.sources[mode], wave);
        solve(&ocean, mode);
        let square = ocean.spec.spacing_m * ocean.spec.spacing_m;
        let cosines = (3.0 * angle).cos() + (2.0 * angle).cos();
        let eigenvalue = (2.0 * cosines - 4.0) / square - ocean.problem(mode).screening;
        for (row, line) in ocean.tendencies[mode].whole().iter().enumerate() {
            for (column, found) in line.iter().enumerate() {
                let wanted = wave(row, column) / eigenvalue;
                let error = (found - wanted).abs() * eigenvalue.abs();
                assert!(error < 1e-5, "{threads}, {row}, {column}: {error}");
            }
        }
    }
}

/// A V-cycle reduces the residual at least sixfold (tenfold on nested grids, Trottenberg et al.,
/// section 2.4) at any size, so that ten reach 1e-7.
#[test]
fn a_cycle_reduces_the_residual_sixfold_at_any_size() {
    for (grid, threads) in [(18, 1), (34, 4), (66, 1), (66, 16), (130, 2)] {
        for mode in [BAROTROPIC, BAROCLINIC] {
            let ocean = ocean(grid, threads);
            set(&ocean, &ocean.sources[mode], |row, column| {
                uniform(5, (row * grid + column) as u64)
            });
            let cycles = solve(&ocean, mode);
            assert!(ocean.relative_residual(mode) <= ocean.spec.tolerance * 1.01);
            assert!(
                cycles <= 10,
                "{grid} x {grid} on {threads}: {cycles} cycles"
            );
        }
    }
}

/// Oracle: Arakawa's Jacobian changes neither energy nor enstrophy, and of a function and itself
/// it is 0.
#[test]
fn the_jacobian_keeps_energy_and_enstrophy() {
    let ocean = ocean(34, 4);
    let fields = [&ocean.sources[0], &ocean.sources[1]];
    for (seed, field) in fields.into_iter().enumerate() {
        set(&ocean, field, |row, column| {
            uniform(seed as u64, (row * 34 + column) as u64)
        });
        (0..4).for_each(|thread| field.fetch(thread, RING, &mut Silent));
    }
    let [a, b] = fields.map(Grid::whole);
    let jacobian = |one: &Grid, other: &Grid| {
        let result = &ocean.jacobians[0];
        (0..4).for_each(|thread| ocean.jacobian(result, one, other, thread, &mut Silent));
        result.whole()
    };
    let sum = |one: &[Vec<f64>], other: &[Vec<f64>]| -> f64 {
        one.concat()
            .iter()
            .zip(other.concat())
            .map(|(one, other)| one * other)
            .sum()
    };
    let found = jacobian(fields[0], fields[1]);
    let size: f64 = found.concat().iter().map(|value| value.abs()).sum();
    assert!(size > 0.0);
    assert!(sum(&found, &a).abs() < 1e-13 * size);
    assert!(sum(&found, &b).abs() < 1e-13 * size);
    let zero = jacobian(fields[0], fields[0]).concat();
    assert!(zero.iter().all(|value| value.abs() < 1e-15 * size));
}

/// Oracle: the Jacobian of x² + y and of x y² is 4 x² y - y²; differences of x³ and y³ in one of
/// Arakawa's three forms add 2 y - 1, in units of the spacing.
#[test]
fn the_jacobian_is_that_of_calculus() {
    let ocean = ocean(18, 1);
    let square = ocean.spec.spacing_m * ocean.spec.spacing_m;
    let at = |place: usize| place as f64 - 9.0;
    let fields = [&ocean.sources[0], &ocean.sources[1]];
    set(&ocean, fields[0], |row, column| {
        square * (at(column) * at(column) + at(row))
    });
    set(&ocean, fields[1], |row, column| {
        square * at(column) * at(row) * at(row)
    });
    ocean.jacobian(&ocean.jacobians[0], fields[0], fields[1], 0, &mut Silent);
    let found = ocean.jacobians[0].whole();
    for (row, column) in [(5, 5), (9, 12), (12, 3)] {
        let (x, y) = (at(column), at(row));
        let wanted = 4.0 * x * x * y - y * y + (2.0 * y - 1.0) / 3.0;
        assert!(
            (found[row][column] / square - wanted).abs() < 1e-9,
            "{row}, {column}"
        );
    }
}

#[test]
fn a_run_satisfies_its_equations_and_moves_with_the_wind() {
    for threads in [1, 2, 16] {
        let ocean = ocean(34, threads);
        run_threads(&ocean);
        ocean.verify().expect("right");
        // The two gyres are mirror images that turn in opposite directions.
        let upper = ocean.final_stream(UPPER).whole();
        let largest = upper
            .concat()
            .into_iter()
            .fold(0.0, |most: f64, value| most.max(value.abs()));
        assert!(largest > 0.0);
        for (south, north) in upper.iter().zip(upper.iter().rev()) {
            for (one, other) in south.iter().zip(north) {
                assert!((one + other).abs() < 1e-4 * largest, "{one} and {other}");
            }
        }
    }
}

/// Oracle: a hundred days from rest stay bounded; leapfrog without lagged friction would not.
#[test]
fn a_long_run_is_stable() {
    let spec = Spec {
        grid: 18,
        steps: 300,
        tolerance: 1e-5,
        ..Spec::default()
    };
    let ocean = Ocean::new(spec, 1).expect("sound");
    run_threads(&ocean);
    ocean.verify().expect("right");
    let speed = |stream: f64| stream.abs() / spec.spacing_m;
    assert!(
        ocean
            .result()
            .into_iter()
            .all(|stream| speed(stream) < 10.0)
    );
}

#[test]
fn borders_are_the_points_of_the_neighbours() {
    let ocean = ocean(18, 16);
    let grid = &ocean.wind;
    let number = |row: usize, column: usize| (row * 100 + column) as f64;
    set(&ocean, grid, number);
    for thread in 0..16 {
        let (top, left) = grid.origin(thread);
        let count = |points| {
            let places = (0..6).flat_map(|row| (0..6).map(move |column| (row, column)));
            let is_own = |place: usize| (1..=4).contains(&place);
            let ring = places.filter(|(row, column)| !is_own(*row) || !is_own(*column));
            for place in ring.clone() {
                grid.set(thread, place, -1.0, &mut Silent);
            }
            grid.fetch(thread, points, &mut Silent);
            let mut count = 0;
            for (row, column) in ring {
                let value = grid.get(thread, row, column, &mut Silent);
                if value >= 0.0 {
                    assert!((value - number(top + row, left + column)).abs() < 0.5);
                    count += 1;
                }
            }
            count
        };
        let black = Points {
            colour: Some(1),
            with_corners: false,
        };
        let inside = |place: usize| usize::from(place > 0) + usize::from(place < 12);
        let sides = inside(top) + inside(left);
        assert_eq!(count(black), 2 * sides);
        assert_eq!(count(RING), 4 * sides + inside(top) * inside(left));
    }
}

#[test]
fn a_wrong_point_is_found() {
    let ocean = ocean(18, 4);
    run_phases(&ocean, &mut [Silent; 4], |_, _| {});
    ocean.verify().expect("right");
    let tendency = &ocean.tendencies[BAROTROPIC];
    let right = tendency.get(3, 2, 2, &mut Silent);
    tendency.set(3, (2, 2), right * 1.001, &mut Silent);
    assert!(
        ocean
            .verify()
            .is_err_and(|why| why.contains("residual of the barotropic mode"))
    );
}

#[test]
fn impossible_sizes_are_refused_with_the_reason() {
    let refused = |change: fn(&mut Spec), threads| {
        let mut spec = Spec::default();
        change(&mut spec);
        Ocean::new(spec, threads).expect_err("impossible")
    };
    assert!(refused(|spec| spec.grid = 9, 1).contains("10 to 4098 rows"));
    assert!(refused(|spec| spec.grid = 65, 1).contains("63 x 63 points"));
    assert!(refused(|spec| spec.grid = 40, 1).contains("cannot be halved down to 4 to 16"));
    assert!(refused(|spec| spec.grid = 66, 3).contains("1 x 3 threads cannot divide 64 x 64"));
    assert!(refused(|spec| spec.grid = 18, 256).contains("on 16 x 16 threads"));
    assert!(refused(|spec| spec.steps = 0, 1).contains("1 to 10000"));
    assert!(refused(|spec| spec.tolerance = f64::NAN, 1).contains("1e-11 to 0.1"));
    assert!(refused(|spec| spec.spacing_m = 0.0, 1).contains("above 0"));
    assert!(refused(|spec| spec.spacing_m = 5_000.0, 1).contains("use at most 9470 s"));
    assert!(refused(|spec| spec.spacing_m = 1e7, 1).contains("unstable"));
}
