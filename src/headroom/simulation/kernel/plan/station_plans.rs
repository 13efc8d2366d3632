//! Compiles stations from their description in the model.

use crate::simulation::kernel::error::SimulationError;
use crate::simulation::kernel::plan::compile::refuse;
use crate::simulation::kernel::plan::model::{Discipline, Model, Station, WhenFull};
use crate::simulation::kernel::plan::program::Sweep;
use crate::simulation::kernel::plan::program::{Order, StationPlan};
use crate::simulation::kernel::random::stream;

/// Compile the stations of `model`.
///
/// # Errors
///
/// Fails if a station contradicts itself.
pub fn compile(model: &Model) -> Result<Vec<StationPlan>, SimulationError> {
    let blocks = model
        .stations
        .iter()
        .any(|station| station.buffer.is_some() && station.when_full == WhenFull::Block);
    let plans = model.stations.iter().map(|station| {
        check(station)?;
        let can_break = model
            .breakdowns
            .iter()
            .any(|one| one.station == station.name);
        Ok(plan(station, can_break, blocks, model.attributes.len()))
    });
    plans.collect()
}

/// Return the plan of `station`; the position of a job is its attribute `position`.
fn plan(station: &Station, can_break: bool, blocks: bool, position: usize) -> StationPlan {
    let order = match station.discipline {
        Discipline::Fcfs | Discipline::Infinite => Order::Fifo,
        Discipline::Lcfs => Order::Lifo {
            is_preemptive: false,
        },
        Discipline::LcfsPreempt => Order::Lifo {
            is_preemptive: true,
        },
        Discipline::Priority => Order::Priority {
            is_preemptive: false,
        },
        Discipline::PriorityPreempt => Order::Priority {
            is_preemptive: true,
        },
        Discipline::Ps => Order::Sharing,
        Discipline::Random => Order::Random,
        Discipline::Elevator => Order::Position(Sweep::OneWay),
        Discipline::ElevatorTwoWay => Order::Position(Sweep::BothWays),
        Discipline::Nearest => Order::Position(Sweep::Nearest),
    };
    let is_infinite = station.discipline == Discipline::Infinite;
    let has_seats = !is_infinite && order != Order::Sharing && station.batch.is_none();
    StationPlan {
        name: station.name.clone(),
        servers: if is_infinite {
            u32::MAX
        } else {
            station.servers
        },
        order,
        sharing_limit: station.limit.unwrap_or(u32::MAX),
        speeds: station.speeds.clone().unwrap_or_default(),
        places: station
            .buffer
            .map_or(u32::MAX, |buffer| station.servers.saturating_add(buffer)),
        is_rejecting: station.when_full == WhenFull::Reject,
        holds_when_blocked: blocks && has_seats,
        batch: station.batch.map(|batch| (batch.least, batch.most)),
        can_break,
        is_reserving: false,
        is_left: false,
        can_change: false,
        is_watched: false,
        key: name_key(&station.name),
        position,
    }
}

fn check(station: &Station) -> Result<(), SimulationError> {
    let flaw = flaw(station);
    match flaw {
        Some(flaw) => refuse(format!("station '{}' {flaw}", station.name)),
        None => Ok(()),
    }
}

fn flaw(station: &Station) -> Option<&'static str> {
    let is_infinite = station.discipline == Discipline::Infinite;
    let is_shared = station.discipline == Discipline::Ps;
    let speeds = station.speeds.as_deref().unwrap_or(&[1.0]);
    let are_positive = speeds.iter().all(|speed| speed.is_finite() && *speed > 0.0);
    let are_equal = speeds
        .iter()
        .all(|speed| speed.to_bits() == speeds[0].to_bits());
    if station.servers == 0 {
        Some("has no servers")
    } else if station.limit == Some(0) || (station.limit.is_some() && !is_shared) {
        Some("limits how many jobs share its servers to none, or does not share them")
    } else if speeds.is_empty() || !are_positive {
        Some("has a speed that is not above zero")
    } else if station.speeds.is_some() && !is_infinite && speeds.len() != station.servers as usize {
        Some("does not have one speed for each server")
    } else if (is_shared || is_infinite) && !are_equal {
        Some("shares servers of different speed")
    } else if is_infinite && station.buffer.is_some() {
        Some("has unlimited servers and a limited buffer")
    } else if station
        .batch
        .is_some_and(|batch| batch.least == 0 || batch.most < batch.least)
    {
        Some("takes a batch of no size")
    } else if station.batch.is_some() && !takes_batches(station.discipline) {
        Some("takes batches in an order that interrupts or shares")
    } else if station.position.is_some() != is_by_position(station.discipline) {
        Some("serves by position without positions of jobs, or has positions that it ignores")
    } else {
        None
    }
}

/// Return whether `discipline` looks at the positions of jobs.
pub const fn is_by_position(discipline: Discipline) -> bool {
    matches!(
        discipline,
        Discipline::Elevator | Discipline::ElevatorTwoWay | Discipline::Nearest
    )
}

const fn takes_batches(discipline: Discipline) -> bool {
    matches!(
        discipline,
        Discipline::Fcfs
            | Discipline::Lcfs
            | Discipline::Priority
            | Discipline::Random
            | Discipline::Elevator
            | Discipline::ElevatorTwoWay
            | Discipline::Nearest
    )
}

/// Return the key of the random stream that belongs to the order of the station `name`.
fn name_key(name: &str) -> u64 {
    name.bytes()
        .fold(0, |key, byte| stream::mix(key ^ u64::from(byte)))
}
