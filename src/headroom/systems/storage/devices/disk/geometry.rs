//! The position of a sector: zones, cylinders, tracks, and the angle at which it passes the head.
//!
//! Sectors are numbered along a track, then along the tracks of a cylinder, then along the
//! cylinders from the outside to the inside; outer tracks hold more (zones). The first sector of
//! each track is offset from that of the previous track by the switch time (skew), so that
//! sequential reading never waits for a full rotation.
//!
//! Invariant: each sector of the disk has one place, and a run of sectors takes the time of its
//! sectors and of the switches between its tracks, nothing else.

/// Cylinders with as many sectors on each track.
#[derive(Clone, Copy, Debug)]
struct Zone {
    first_cylinder: u32,
    first_sector: u64,
    sectors_per_track: u64,
}

/// A disk's layout.
#[derive(Clone, Debug)]
pub struct Geometry {
    zones: Vec<Zone>,
    /// Tracks of a cylinder, one a surface.
    heads: u64,
    /// All cylinders.
    pub cylinders: u32,
    /// Sectors of the disk.
    pub sectors: u64,
    /// Time of a turn (s).
    pub rotation_s: f64,
    head_switch_s: f64,
    cylinder_switch_s: f64,
}

/// Known facts about a disk's layout.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Sectors that must find room.
    pub sectors: u64,
    /// Bytes of a sector (B).
    pub sector_bytes: f64,
    /// Surfaces.
    pub heads: u32,
    /// Zones.
    pub zones: u32,
    /// Time of a turn (s).
    pub rotation_s: f64,
    /// Rate (B/s) at which the outermost zone is read on, switches included.
    pub outer_bytes_per_s: f64,
    /// The same of the innermost zone.
    pub inner_bytes_per_s: f64,
    /// Time (s) to the next surface.
    pub head_switch_s: f64,
    /// Time (s) to the next cylinder.
    pub cylinder_switch_s: f64,
}

/// The position of a sector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Cylinder, from the outside.
    pub cylinder: u32,
    /// Surface.
    pub head: u32,
    /// Angle of its beginning (turns, 0 to 1).
    pub angle: f64,
}

/// The position of a sector on its track, in whole numbers.
struct Spot {
    cylinder: u64,
    head: u64,
    sector: u64,
    sectors_per_track: u64,
}

impl Geometry {
    /// Lay out a disk.
    pub fn new(shape: &Shape) -> Self {
        let heads = f64::from(shape.heads);
        let switches_s = (heads - 1.0) * shape.head_switch_s + shape.cylinder_switch_s;
        let track_s = shape.rotation_s + switches_s / heads;
        let per_track = |zone: u32| {
            let inwards = f64::from(zone) / f64::from((shape.zones - 1).max(1));
            let rate = shape.outer_bytes_per_s
                + inwards * (shape.inner_bytes_per_s - shape.outer_bytes_per_s);
            whole(rate * track_s / shape.sector_bytes).max(1)
        };
        let counts: Vec<u64> = (0..shape.zones).map(per_track).collect();
        let each = counts.iter().sum::<u64>() * u64::from(shape.heads);
        let cylinders_per_zone = shape.sectors.div_ceil(each).max(1);
        let mut zones = Vec::with_capacity(counts.len());
        let (mut cylinder, mut sector) = (0, 0);
        for sectors_per_track in counts {
            zones.push(Zone {
                first_cylinder: cylinder,
                first_sector: sector,
                sectors_per_track,
            });
            cylinder += u32::try_from(cylinders_per_zone).unwrap_or(u32::MAX / 4096);
            sector += cylinders_per_zone * u64::from(shape.heads) * sectors_per_track;
        }
        Self {
            zones,
            heads: u64::from(shape.heads),
            cylinders: cylinder,
            sectors: shape.sectors,
            rotation_s: shape.rotation_s,
            head_switch_s: shape.head_switch_s,
            cylinder_switch_s: shape.cylinder_switch_s,
        }
    }

    fn spot(&self, sector: u64) -> Spot {
        let after = self
            .zones
            .partition_point(|zone| zone.first_sector <= sector);
        let zone = self.zones[after - 1];
        let inside = sector - zone.first_sector;
        let track = inside / zone.sectors_per_track;
        Spot {
            cylinder: u64::from(zone.first_cylinder) + track / self.heads,
            head: track % self.heads,
            sector: inside % zone.sectors_per_track,
            sectors_per_track: zone.sectors_per_track,
        }
    }

    /// Return the position of `sector`.
    pub fn place(&self, sector: u64) -> Place {
        let spot = self.spot(sector);
        let (cylinder, head) = (spot.cylinder as f64, spot.head as f64);
        let inner_switches = (self.heads - 1) as f64;
        let skew_s = cylinder * (inner_switches * self.head_switch_s + self.cylinder_switch_s)
            + head * self.head_switch_s;
        let on_track = spot.sector as f64 / spot.sectors_per_track as f64;
        Place {
            cylinder: u32::try_from(spot.cylinder).unwrap_or(u32::MAX),
            head: u32::try_from(spot.head).unwrap_or(u32::MAX),
            angle: (skew_s / self.rotation_s + on_track).fract(),
        }
    }

    /// Return the time (s) to move `count` sectors from `first` on under the head, from the moment
    /// at which the first begins.
    pub fn transfer_s(&self, first: u64, count: u64) -> f64 {
        let mut time_s = 0.0;
        let mut next = first;
        let end = first + count;
        while next < end {
            let spot = self.spot(next);
            let here = (spot.sectors_per_track - spot.sector).min(end - next);
            time_s += self.sectors_s(here, spot.sectors_per_track);
            next += here;
            if next < end {
                time_s += self.switch_s(spot.head);
            }
        }
        time_s
    }

    /// Return the time (s) from the end of the sector before `first` until `count` more have passed.
    pub fn going_on_s(&self, first: u64, count: u64) -> f64 {
        let spot = self.spot(first);
        let switch_s = if spot.sector == 0 {
            self.switch_before_s(&spot)
        } else {
            0.0
        };
        switch_s + self.transfer_s(first, count)
    }

    /// Return how many whole sectors, at most `most`, pass in `time_s` from the end of the sector
    /// before `first` on, and how long they take (s).
    pub fn sectors_within(&self, first: u64, most: u64, time_s: f64) -> (u64, f64) {
        let (mut count, mut taken_s) = (0, 0.0);
        while count < most {
            let spot = self.spot(first + count);
            if spot.sector == 0 {
                // The switch to this track; its time counts only if a sector follows.
                let switch_s = self.switch_before_s(&spot);
                if taken_s + switch_s > time_s {
                    break;
                }
                taken_s += switch_s;
            }
            let here = (spot.sectors_per_track - spot.sector).min(most - count);
            let one_s = self.sectors_s(1, spot.sectors_per_track);
            let fitting = whole((time_s - taken_s) / one_s).min(here);
            count += fitting;
            taken_s += self.sectors_s(fitting, spot.sectors_per_track);
            if fitting < here {
                break;
            }
        }
        (count, taken_s)
    }

    fn sectors_s(&self, count: u64, sectors_per_track: u64) -> f64 {
        self.rotation_s * count as f64 / sectors_per_track as f64
    }

    /// Return the time (s) of the switch to the track of a sector.
    fn switch_before_s(&self, spot: &Spot) -> f64 {
        self.switch_s(if spot.head == 0 { self.heads - 1 } else { 0 })
    }

    /// Return the time (s) from the end of a track under `head` to the beginning of the next.
    fn switch_s(&self, head: u64) -> f64 {
        if head + 1 == self.heads {
            self.cylinder_switch_s
        } else {
            self.head_switch_s
        }
    }
}

/// Return a number of 0 or more without its fraction.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "times and rates of a disk are above 0 and far below 2^53"
)]
fn whole(value: f64) -> u64 {
    value.max(0.0) as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    pub fn shape() -> Shape {
        Shape {
            sectors: 4_000_000,
            sector_bytes: 512.0,
            heads: 4,
            zones: 8,
            rotation_s: 4e-3,
            outer_bytes_per_s: 120e6,
            inner_bytes_per_s: 60e6,
            head_switch_s: 0.5e-3,
            cylinder_switch_s: 0.8e-3,
        }
    }

    #[test]
    fn the_zones_are_read_on_at_their_rates() {
        let geometry = Geometry::new(&shape());
        let count = 200_000;
        let outer = 512.0 * count as f64 / geometry.transfer_s(0, count);
        assert!((outer / 120e6 - 1.0).abs() < 5e-3, "{outer}");
        let inner = 512.0 * count as f64 / geometry.transfer_s(4_000_000 - count, count);
        assert!((inner / 60e6 - 1.0).abs() < 5e-3, "{inner}");
    }

    proptest! {
        /// Reading on needs no turn: the next track's first sector comes when the switch is done.
        #[test]
        fn the_skew_is_the_time_of_the_switch(sector in 0_u64..3_999_000) {
            let geometry = Geometry::new(&shape());
            let (one, next) = (geometry.place(sector), geometry.place(sector + 1));
            let turned = (one.angle + geometry.transfer_s(sector, 2) / geometry.rotation_s
                - geometry.transfer_s(sector + 1, 1) / geometry.rotation_s - next.angle).fract();
            prop_assert!(turned.abs() < 1e-6 || (1.0 - turned.abs()) < 1e-6, "{turned}");
        }

        /// The place rises with the number, and a run is as long as its parts.
        #[test]
        fn a_run_takes_the_time_of_its_parts(first in 0_u64..3_900_000, a in 1_u64..5000, b in 1_u64..5000) {
            let geometry = Geometry::new(&shape());
            prop_assert!(geometry.place(first).cylinder <= geometry.place(first + a).cylinder);
            let whole = geometry.transfer_s(first, a + b);
            let parts = geometry.transfer_s(first, a) + geometry.transfer_s(first + a, b);
            // Where the parts meet on a border of tracks, the switch is in the whole alone.
            let gap = whole - parts;
            prop_assert!(gap.abs() < 1e-9 || (gap - 0.5e-3).abs() < 1e-9 || (gap - 0.8e-3).abs() < 1e-9);
            let (found, taken) = geometry.sectors_within(first + a, b, whole - geometry.transfer_s(first, a) + 1e-12);
            prop_assert!(found + 1 >= b && found <= b, "{found} of {b}");
            prop_assert!(taken <= whole + 1e-9);
        }
    }
}
