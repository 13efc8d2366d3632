//! The layout of one device's bytes over a group of disks: RAID 0, 1 and 5.
//!
//! Bytes are distributed over the disks in strips (RAID 0). RAID 1 stores each strip on two
//! neighbouring disks. RAID 5 uses one strip of each stripe for parity, one disk further to the
//! left each time, with the data after it (left-symmetric, the usual layout). After Patterson,
//! Gibson & Katz (1988), *A case for redundant arrays of inexpensive disks*, and Lee & Katz (1991),
//! *Performance consequences of parity placement in disk arrays*.
//!
//! A contiguous range of the device is one contiguous range of each disk that it touches; in RAID 5
//! it includes the parity strips in between.
//!
//! Invariant: each byte of the device has one place, no two the same, and none among the parity.

use serde::Deserialize;

use super::arguments::{above_zero, index, range};
use crate::simulation::kernel::plan::mechanism::{Function, Mechanism, Unit};

/// Numbers of a layout.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// Disks.
    pub disks: u64,
    /// Bytes of a disk (B).
    pub disk_bytes: u64,
    /// 0, 1 or 5.
    pub level: u8,
    /// Bytes of a strip (B).
    pub strip_bytes: u64,
}

/// Functions for models.
const FUNCTIONS: &[Function] = &[
    number("disk", &["offset"]),
    number("disks_touched", &["offset", "length"]),
    number("place", &["disk", "offset", "length"]),
    number("bytes", &["disk", "offset", "length"]),
    number("mirror", &["offset"]),
    number("parity_disk", &["offset"]),
    number("parity_place", &["offset"]),
    number("is_full_stripe", &["offset", "length"]),
];

const fn number(name: &'static str, arguments: &'static [&'static str]) -> Function {
    Function {
        name,
        arguments,
        unit: Unit::Number,
    }
}

impl Layout {
    /// Check the numbers of a layout.
    ///
    /// # Errors
    ///
    /// Returns the error.
    pub fn new(layout: Self) -> Result<Self, String> {
        above_zero(&[
            ("disks", layout.disks as f64),
            ("strip_bytes", layout.strip_bytes as f64),
            (
                "disk_bytes",
                (layout.disk_bytes / layout.strip_bytes.max(1)) as f64,
            ),
        ])?;
        let least = match layout.level {
            0 => 1,
            1 => 2,
            5 => 3,
            other => return Err(format!("RAID {other} is not supported; choose 0, 1 or 5")),
        };
        if layout.disks < least || (layout.level == 1 && layout.disks % 2 == 1) {
            return Err(format!(
                "RAID {} with {} disks; it takes {least} or more, and RAID 1 pairs of them",
                layout.level, layout.disks
            ));
        }
        Ok(layout)
    }

    /// Return the bytes of the device (B).
    pub fn capacity_bytes(&self) -> u64 {
        self.disk_bytes / self.strip_bytes * self.strip_bytes * self.data_disks()
    }

    /// Return how many disks' worth of data there is.
    pub fn data_disks(&self) -> u64 {
        match self.level {
            0 => self.disks,
            1 => self.disks / 2,
            _ => self.disks - 1,
        }
    }

    /// Return the disk that holds the byte at `offset`, and the place there (B).
    pub fn place_of(&self, offset: u64) -> (u64, u64) {
        let strip = offset / self.strip_bytes;
        let (stripe, column) = (strip / self.data_disks(), strip % self.data_disks());
        let disk = match self.level {
            0 => column,
            1 => 2 * column,
            _ => (self.parity_disk_of(stripe) + 1 + column) % self.disks,
        };
        (disk, stripe * self.strip_bytes + offset % self.strip_bytes)
    }

    fn parity_disk_of(&self, stripe: u64) -> u64 {
        self.disks - 1 - stripe % self.disks
    }

    /// Return the stretch of `disk` that holds some of the bytes, empty if it holds none.
    pub fn stretch(&self, disk: u64, (start, end): (u64, u64)) -> (u64, u64) {
        let (first, last) = (start / self.strip_bytes, (end - 1) / self.strip_bytes);
        let round = self.data_disks();
        // Each disk that is touched is touched by a strip of the first and of the last round.
        let ends = [
            first..=last.min(first + 2 * round),
            last.saturating_sub(2 * round).max(first)..=last,
        ];
        let mut found: Option<(u64, u64)> = None;
        for strip in ends.into_iter().flatten() {
            let here = (
                start.max(strip * self.strip_bytes),
                end.min((strip + 1) * self.strip_bytes),
            );
            let (holder, place) = self.place_of(here.0);
            if holder == disk {
                let (low, high) = (place, place + here.1 - here.0);
                found = Some(found.map_or((low, high), |(a, b)| (a.min(low), b.max(high))));
            }
        }
        found.unwrap_or((0, 0))
    }

    fn disks_touched(&self, (start, end): (u64, u64)) -> u64 {
        let strips = (end - 1) / self.strip_bytes - start / self.strip_bytes + 1;
        if strips <= self.data_disks() && self.level != 5 {
            return strips;
        }
        (0..self.disks)
            .filter(|&disk| {
                let (low, high) = self.stretch(disk, (start, end));
                low < high
            })
            .count() as u64
    }
}

impl Mechanism for Layout {
    fn functions(&self) -> &'static [Function] {
        FUNCTIONS
    }

    fn call(&mut self, function: usize, _now_s: f64, arguments: &[f64]) -> Result<f64, String> {
        let capacity = self.capacity_bytes();
        let name = FUNCTIONS[function].name;
        if let &[disk, offset, length] = arguments {
            let disk = index(
                disk,
                usize::try_from(self.disks).unwrap_or(usize::MAX),
                "disk",
            )?;
            let (low, high) = self.stretch(disk as u64, range(offset, length, capacity)?);
            return Ok(if name == "place" { low } else { high - low } as f64);
        }
        let (start, end) = range(
            arguments[0],
            arguments.get(1).copied().unwrap_or(1.0),
            capacity,
        )?;
        let (disk, place) = self.place_of(start);
        let stripe = start / (self.strip_bytes * self.data_disks());
        Ok(match name {
            "disk" => disk,
            "mirror" => disk + u64::from(self.level == 1),
            "disks_touched" => self.disks_touched((start, end)),
            "parity_disk" => self.parity_disk_of(stripe),
            "parity_place" => place,
            _ => {
                let stripe_bytes = self.strip_bytes * self.data_disks();
                u64::from(start % stripe_bytes == 0 && end % stripe_bytes == 0)
            }
        } as f64)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn layout(level: u8, disks: u64) -> Layout {
        Layout::new(Layout {
            disks,
            disk_bytes: 4096 * 30,
            level,
            strip_bytes: 4096,
        })
        .expect("a layout")
    }

    #[test]
    fn each_strip_has_one_place_and_parity_has_the_rest() {
        for (level, disks) in [(0, 5), (1, 6), (5, 5)] {
            let layout = layout(level, disks);
            let strips = layout.capacity_bytes() / 4096;
            let mut places: BTreeSet<(u64, u64)> = (0..strips)
                .map(|strip| layout.place_of(strip * 4096))
                .collect();
            assert_eq!(places.len() as u64, strips);
            let second: Vec<(u64, u64)> = match level {
                1 => places
                    .iter()
                    .map(|&(disk, place)| (disk + 1, place))
                    .collect(),
                5 => (0..30)
                    .map(|stripe| (layout.parity_disk_of(stripe), stripe * 4096))
                    .collect(),
                _ => Vec::new(),
            };
            for place in second {
                assert!(places.insert(place), "{place:?} twice");
            }
            assert_eq!(places.len() as u64, 30 * disks, "RAID {level}");
        }
    }

    #[test]
    fn parity_goes_round_evenly() {
        let layout = layout(5, 5);
        let disks: Vec<u64> = (0..5).map(|stripe| layout.parity_disk_of(stripe)).collect();
        assert_eq!(disks, [4, 3, 2, 1, 0]);
        assert_eq!(layout.place_of(0).0, 0);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for (level, disks) in [(5, 2), (1, 3), (6, 8)] {
            let made = Layout::new(Layout {
                disks,
                level,
                ..layout(0, 4)
            });
            assert!(made.is_err());
        }
    }

    proptest! {
        /// The stretches of the disks hold all of the bytes; without parity nothing else.
        #[test]
        fn stretches_hold_the_bytes(
            start in 0_u64..300_000, length in 1_u64..120_000, level in prop::sample::select(vec![0_u8, 1, 5]),
        ) {
            let layout = layout(level, 4);
            let end = (start + length).min(layout.capacity_bytes());
            prop_assume!(start < end);
            let stretches: Vec<(u64, u64)> = (0..4).map(|disk| layout.stretch(disk, (start, end))).collect();
            let total: u64 = stretches.iter().map(|(low, high)| high - low).sum();
            let (least, most) = (end - start, if level == 5 { u64::MAX } else { end - start });
            prop_assert!(least <= total && total <= most);
            for byte in (start..end).step_by(1000).chain([start, end - 1]) {
                let (disk, place) = layout.place_of(byte);
                let (low, high) = stretches[usize::try_from(disk).expect("small")];
                prop_assert!(low <= place && place < high);
            }
            let touched = stretches.iter().filter(|(low, high)| low < high).count() as u64;
            prop_assert_eq!(layout.disks_touched((start, end)), touched);
        }
    }
}
