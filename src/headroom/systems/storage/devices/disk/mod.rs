//! Mechanical disks: an arm, rotating platters, and a read-ahead buffer.
//!
//! The time of a request follows from the position of the head, the angle of the platter at that
//! moment, and the speed of the zone. Only the initial angle of each platter is random. After
//! Ruemmler & Wilkes (1994), *An introduction to disk drive modeling*.
//!
//! Not modelled: defects and their spare sectors, thermal recalibration, retries, and a disk that
//! reorders its own queue (the model has a queue in front of the disk for that).
//!
//! Invariant: a disk serves one request at a time, each from a moment that is not before the end
//! of the last one.

mod geometry;
mod seek;
mod track_cache;

use rand::RngExt;
use serde::Deserialize;

use self::geometry::{Geometry, Shape};
use self::seek::SeekCurve;
use self::track_cache::TrackCache;
use super::arguments::{above_zero, index, not_negative, range};
use crate::simulation::kernel::plan::mechanism::{Function, Mechanism, Unit};
use crate::simulation::kernel::random::stream::Stream;

/// Numbers of a disk, as a data sheet gives them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Like disks, each with its own head and angle.
    pub disks: u32,
    /// Bytes of a disk (B).
    pub capacity_bytes: u64,
    /// Bytes of a sector (B).
    pub sector_bytes: u32,
    /// Surfaces.
    pub heads: u32,
    /// Zones.
    pub zones: u32,
    /// Time of a turn (s).
    pub rotation_s: f64,
    /// Sustained rate (B/s) of the outermost zone.
    pub outer_bytes_per_s: f64,
    /// Sustained rate (B/s) of the innermost zone.
    pub inner_bytes_per_s: f64,
    /// Seek (s) to the next cylinder.
    pub seek_single_s: f64,
    /// Mean seek (s) over uniform pairs of cylinders.
    pub seek_mean_s: f64,
    /// Seek (s) over all cylinders.
    pub seek_full_s: f64,
    /// Switch (s) to another surface.
    pub head_switch_s: f64,
    /// Time (s) that the head settles longer before it writes.
    pub write_settle_s: f64,
    /// Time (s) of the disk's controller to take a command.
    pub overhead_s: f64,
    /// Rate (B/s) of the interface.
    pub bus_bytes_per_s: f64,
    /// Segments of the buffer.
    pub segments: u32,
    /// Bytes of a segment (B); read-ahead ends when its segment is full.
    pub segment_bytes: u64,
}

/// Data shared by all disks of a group.
#[derive(Debug)]
struct Design {
    geometry: Geometry,
    seek: SeekCurve,
    sector_bytes: u64,
    capacity_bytes: u64,
    write_settle_s: f64,
    head_switch_s: f64,
    overhead_s: f64,
    bus_bytes_per_s: f64,
    read_ahead_sectors: u64,
}

/// Automatic read-ahead.
#[derive(Clone, Copy, Debug)]
struct ReadAhead {
    /// Segment that receives it.
    segment: usize,
    /// When its last sector had been read (s).
    since_s: f64,
    /// Sector before which it stops.
    limit: u64,
}

/// One disk.
#[derive(Debug)]
struct Disk {
    cylinder: u32,
    head: u32,
    /// Angle (turns) of the platter at time 0.
    phase: f64,
    buffer: TrackCache,
    ahead: Option<ReadAhead>,
}

/// A group of like disks.
#[derive(Debug)]
pub struct Disks {
    design: Design,
    disks: Vec<Disk>,
}

/// Functions for models.
const FUNCTIONS: &[Function] = &[
    Function {
        name: "service",
        arguments: &["disk", "offset", "length", "is_write"],
        unit: Unit::Seconds,
    },
    Function {
        name: "cylinder",
        arguments: &["offset"],
        unit: Unit::Number,
    },
];

/// Largest share of a turn by which a sector may seem to be past, from rounding alone.
const ROUNDING: f64 = 1e-6;

impl Disks {
    /// Make the disks; `stream` gives the angle at which each begins.
    ///
    /// # Errors
    ///
    /// Returns which parameter is invalid.
    pub fn new(parameters: &Parameters, mut stream: Stream) -> Result<Self, String> {
        check(parameters)?;
        let design = Design::new(parameters)?;
        let segment_sectors = parameters.segment_bytes / u64::from(parameters.sector_bytes);
        let disks = (0..parameters.disks)
            .map(|_| Disk {
                cylinder: 0,
                head: 0,
                phase: stream.random(),
                buffer: TrackCache::new(parameters.segments as usize, segment_sectors),
                ahead: None,
            })
            .collect();
        Ok(Self { design, disks })
    }

    /// Serve a request from `now_s` on; return how long it takes (s).
    ///
    /// # Errors
    ///
    /// There is no such disk, or the request leaves it.
    pub fn serve(&mut self, disk: usize, now_s: f64, bytes: (u64, u64), is_write: bool) -> f64 {
        let sectors = self.design.sectors(bytes);
        let (design, disk) = (&self.design, &mut self.disks[disk]);
        let begin_s = now_s + design.overhead_s;
        disk.read_on(design, begin_s);
        let media_s = if is_write {
            disk.write(design, begin_s, sectors)
        } else {
            disk.read(design, begin_s, sectors)
        };
        let bus_s = (bytes.1 - bytes.0) as f64 / design.bus_bytes_per_s;
        // The interface moves data while the platter turns.
        design.overhead_s + media_s.max(bus_s)
    }
}

impl Mechanism for Disks {
    fn functions(&self) -> &'static [Function] {
        FUNCTIONS
    }

    fn call(&mut self, function: usize, now_s: f64, arguments: &[f64]) -> Result<f64, String> {
        let capacity = self.design.capacity_bytes;
        if function == 0 {
            let disk = index(arguments[0], self.disks.len(), "disk")?;
            let bytes = range(arguments[1], arguments[2], capacity)?;
            return Ok(self.serve(disk, now_s, bytes, arguments[3] != 0.0));
        }
        let (start, end) = range(arguments[0], 1.0, capacity)?;
        let (sector, _) = self.design.sectors((start, end));
        Ok(f64::from(self.design.geometry.place(sector).cylinder))
    }
}

impl Design {
    fn new(parameters: &Parameters) -> Result<Self, String> {
        let geometry = Geometry::new(&Shape {
            sectors: parameters
                .capacity_bytes
                .div_ceil(u64::from(parameters.sector_bytes)),
            sector_bytes: f64::from(parameters.sector_bytes),
            heads: parameters.heads,
            zones: parameters.zones,
            rotation_s: parameters.rotation_s,
            outer_bytes_per_s: parameters.outer_bytes_per_s,
            inner_bytes_per_s: parameters.inner_bytes_per_s,
            head_switch_s: parameters.head_switch_s,
            cylinder_switch_s: parameters.seek_single_s,
        });
        let seek = SeekCurve::through(
            parameters.seek_single_s,
            parameters.seek_mean_s,
            parameters.seek_full_s,
            geometry.cylinders,
        )?;
        Ok(Self {
            geometry,
            seek,
            sector_bytes: u64::from(parameters.sector_bytes),
            capacity_bytes: parameters.capacity_bytes,
            write_settle_s: parameters.write_settle_s,
            head_switch_s: parameters.head_switch_s,
            overhead_s: parameters.overhead_s,
            bus_bytes_per_s: parameters.bus_bytes_per_s,
            read_ahead_sectors: parameters.segment_bytes / u64::from(parameters.sector_bytes),
        })
    }

    /// Return the sectors that hold some bytes: the first, and the one after the last.
    fn sectors(&self, (start, end): (u64, u64)) -> (u64, u64) {
        (start / self.sector_bytes, end.div_ceil(self.sector_bytes))
    }
}

impl Disk {
    /// Let the disk read on until `now_s`, as it does while idle.
    fn read_on(&mut self, design: &Design, now_s: f64) {
        let Some(mut ahead) = self.ahead else { return };
        let end = self.buffer.get(ahead.segment).end;
        let most = ahead.limit.saturating_sub(end);
        let (count, taken_s) = design
            .geometry
            .sectors_within(end, most, now_s - ahead.since_s);
        self.buffer.extend(ahead.segment, end + count);
        ahead.since_s += taken_s;
        self.stand_at(design, (end + count).max(1) - 1);
        self.ahead = (count < most).then_some(ahead);
    }

    /// Read; return the time (s) from `now_s` until the last sector has passed the head.
    fn read(&mut self, design: &Design, now_s: f64, (start, end): (u64, u64)) -> f64 {
        let Some(segment) = self.buffer.find(start) else {
            return self.read_from_media(design, now_s, start, (start, end));
        };
        let held = self.buffer.get(segment).end;
        self.buffer.touch(segment);
        if held >= end {
            return self.buffered(design, segment, end);
        }
        if let Some(ahead) = self.ahead.filter(|ahead| ahead.segment == segment) {
            // It is being read already: the rest passes next.
            let until_s = ahead.since_s + design.geometry.going_on_s(held, end - held);
            let until_s = until_s.max(now_s);
            self.buffer.extend(segment, end);
            self.go_on(design, segment, end, until_s);
            return until_s - now_s;
        }
        self.read_from_media(design, now_s, start, (held, end))
    }

    /// Serve a read that is entirely in the buffer, and keep reading ahead.
    fn buffered(&mut self, design: &Design, segment: usize, end: u64) -> f64 {
        if let Some(ahead) = &mut self.ahead
            && ahead.segment == segment
        {
            ahead.limit = ahead.limit.max(limit(design, end));
        }
        0.0
    }

    /// Move the head, wait for the platter, read `missing`; keep it, with the data present from
    /// `start` on.
    fn read_from_media(
        &mut self,
        design: &Design,
        now_s: f64,
        start: u64,
        (missing, end): (u64, u64),
    ) -> f64 {
        self.ahead = None;
        let positioning_s = self.position(design, now_s, missing, 0.0);
        let time_s = positioning_s + design.geometry.transfer_s(missing, end - missing);
        self.stand_at(design, end - 1);
        if let Some(segment) = self.buffer.insert(start, end) {
            self.go_on(design, segment, end, now_s + time_s);
        }
        time_s
    }

    /// Write through to the platter; return the time (s) until the last sector is written.
    fn write(&mut self, design: &Design, now_s: f64, (start, end): (u64, u64)) -> f64 {
        self.ahead = None;
        self.buffer.forget(start, end);
        let positioning_s = self.position(design, now_s, start, design.write_settle_s);
        self.stand_at(design, end - 1);
        positioning_s + design.geometry.transfer_s(start, end - start)
    }

    /// Return the time (s) to move to `sector` and wait until it comes.
    fn position(&self, design: &Design, now_s: f64, sector: u64, settle_s: f64) -> f64 {
        let place = design.geometry.place(sector);
        let distance = place.cylinder.abs_diff(self.cylinder);
        let move_s = if distance > 0 {
            // Seeks on the outside of the curve's range never happen: it spans all cylinders.
            design.seek.time_s(distance)
        } else if place.head == self.head {
            0.0
        } else {
            design.head_switch_s
        };
        let there_s = now_s + move_s + settle_s;
        let turned = (self.phase + there_s / design.geometry.rotation_s).fract();
        let left = (place.angle - turned).rem_euclid(1.0);
        let left = if left > 1.0 - ROUNDING { 0.0 } else { left };
        move_s + settle_s + left * design.geometry.rotation_s
    }

    /// Note that the head is where `sector` has just passed.
    fn stand_at(&mut self, design: &Design, sector: u64) {
        let place = design.geometry.place(sector);
        (self.cylinder, self.head) = (place.cylinder, place.head);
    }

    /// Read on behind `end` from `since_s` on.
    fn go_on(&mut self, design: &Design, segment: usize, end: u64, since_s: f64) {
        self.stand_at(design, end - 1);
        self.ahead = Some(ReadAhead {
            segment,
            since_s,
            limit: limit(design, end),
        });
    }
}

/// Return the sector before which reading ahead of `end` stops.
fn limit(design: &Design, end: u64) -> u64 {
    (end + design.read_ahead_sectors).min(design.geometry.sectors)
}

fn check(parameters: &Parameters) -> Result<(), String> {
    above_zero(&[
        ("disks", f64::from(parameters.disks)),
        ("capacity_bytes", parameters.capacity_bytes as f64),
        ("sector_bytes", f64::from(parameters.sector_bytes)),
        ("heads", f64::from(parameters.heads)),
        ("zones", f64::from(parameters.zones)),
        ("rotation_s", parameters.rotation_s),
        ("outer_bytes_per_s", parameters.outer_bytes_per_s),
        ("inner_bytes_per_s", parameters.inner_bytes_per_s),
        ("bus_bytes_per_s", parameters.bus_bytes_per_s),
    ])?;
    not_negative(&[
        ("head_switch_s", parameters.head_switch_s),
        ("write_settle_s", parameters.write_settle_s),
        ("overhead_s", parameters.overhead_s),
    ])
}

#[cfg(test)]
mod tests;
