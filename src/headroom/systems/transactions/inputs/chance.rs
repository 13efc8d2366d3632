//! Random numbers, names and texts of the standard.
//!
//! Source: clauses 2.1.6 (`NURand`) and 4.3.2 (texts and names).

use headroom_simulation::simulation::kernel::random::stream::{Stream, open};
use rand::RngExt;

use super::scale::{CUSTOMERS, ITEMS, NAMES};

const SYLLABLES: [&str; 10] = [
    "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING",
];
const LETTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const DIGITS: &[u8; 10] = b"0123456789";
const FOR_NAMES: u32 = 255;
const FOR_CUSTOMERS: u32 = 1_023;
const FOR_ITEMS: u32 = 8_191;
/// Differences of the constants of loading and running that the standard allows, less two.
const APART: (u32, u32) = (65, 119);
const NEVER_APART: [u32; 2] = [96, 112];

/// The constants C of a database: one for each field, the same for all drivers of a run.
///
/// Invariant: the constant for names while running differs from that of loading as the standard
/// says; with equal ones a last name would find 12 customers on average instead of 3.4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constants {
    /// For last names while loading.
    pub names_loaded: u32,
    /// For last names while running.
    pub names: u32,
    /// For numbers of customers.
    pub customers: u32,
    /// For numbers of items.
    pub items: u32,
}

impl Constants {
    /// Draw constants for a database and its runs.
    pub fn draw(stream: &mut Stream) -> Self {
        let names_loaded = stream.random_range(0..=FOR_NAMES);
        Self {
            names_loaded,
            ..Self::for_run(names_loaded, stream)
        }
    }

    /// Draw those of a run of a database that was loaded with a constant for names.
    pub fn for_run(names_loaded: u32, stream: &mut Stream) -> Self {
        let allowed: Vec<u32> = (0..=FOR_NAMES)
            .filter(|&names| are_legal(names_loaded, names))
            .collect();
        Self {
            names_loaded,
            names: allowed[stream.random_range(0..allowed.len())],
            customers: stream.random_range(0..=FOR_CUSTOMERS),
            items: stream.random_range(0..=FOR_ITEMS),
        }
    }

    /// Return whether the standard allows them together.
    pub fn are_legal(self) -> bool {
        are_legal(self.names_loaded, self.names)
    }
}

fn are_legal(loaded: u32, running: u32) -> bool {
    let apart = loaded.abs_diff(running);
    (APART.0..=APART.1).contains(&apart) && !NEVER_APART.contains(&apart)
}

/// A source of all inputs of one terminal, or of one part of a load.
#[derive(Clone, Debug)]
pub struct Chance {
    stream: Stream,
    constants: Constants,
}

impl Chance {
    /// Return the source with a key of a run with a seed.
    pub fn new(seed: u64, key: u64, constants: Constants) -> Self {
        Self {
            stream: open(seed, key),
            constants,
        }
    }

    /// The constants.
    pub const fn constants(&self) -> Constants {
        self.constants
    }

    /// Return a whole number between two, both included.
    pub fn number(&mut self, low: u32, high: u32) -> u32 {
        self.stream.random_range(low..=high)
    }

    /// Return whether something of a share happens.
    pub fn happens(&mut self, share: f64) -> bool {
        self.stream.random_bool(share)
    }

    /// Return a position below a number.
    pub fn below(&mut self, count: usize) -> usize {
        self.stream.random_range(0..count)
    }

    /// Return an exponential time (s), cut at ten times its mean (clause 5.2.5.4).
    pub fn pause_s(&mut self, mean_s: f64) -> f64 {
        let drawn: f64 = self.stream.random();
        (-mean_s * (1.0 - drawn).ln()).min(10.0 * mean_s)
    }

    /// Return the number of an item.
    pub fn item(&mut self) -> u32 {
        self.skewed(FOR_ITEMS, 1, ITEMS, self.constants.items)
    }

    /// Return the number of a customer.
    pub fn customer(&mut self) -> u32 {
        self.skewed(FOR_CUSTOMERS, 1, CUSTOMERS, self.constants.customers)
    }

    /// Return the number of a last name to ask for.
    pub fn name(&mut self) -> u32 {
        self.skewed(FOR_NAMES, 0, NAMES - 1, self.constants.names)
    }

    /// Return the number of a last name to load.
    pub fn loaded_name(&mut self) -> u32 {
        self.skewed(FOR_NAMES, 0, NAMES - 1, self.constants.names_loaded)
    }

    fn skewed(&mut self, mask: u32, low: u32, high: u32, constant: u32) -> u32 {
        let drawn = self.number(0, mask) | self.number(low, high);
        (drawn + constant) % (high - low + 1) + low
    }

    /// Append letters and digits, of a length between two.
    pub fn text(&mut self, into: &mut String, (shortest, longest): (u32, u32)) {
        let length = self.number(shortest, longest);
        self.some(into, LETTERS, length);
    }

    /// Append so many digits.
    pub fn digits(&mut self, into: &mut String, length: u32) {
        self.some(into, DIGITS, length);
    }

    fn some(&mut self, into: &mut String, among: &[u8], length: u32) {
        let last = u32::try_from(among.len()).expect("a short alphabet") - 1;
        into.extend((0..length).map(|_| char::from(among[self.number(0, last) as usize])));
    }

    /// Append a zip code (clause 4.3.2.7).
    pub fn zip(&mut self, into: &mut String) {
        self.digits(into, 4);
        into.push_str("11111");
    }

    /// Append data that hold the word `ORIGINAL` in one case of ten (clause 4.3.3.1).
    pub fn data(&mut self, into: &mut String, lengths: (u32, u32)) {
        let start = into.len();
        self.text(into, lengths);
        if self.happens(super::scale::ORIGINAL) {
            let word = "ORIGINAL";
            let at = start + self.below(into.len() - start - word.len() + 1);
            into.replace_range(at..at + word.len(), word);
        }
    }

    /// Put things in random order.
    pub fn shuffle<T>(&mut self, things: &mut [T]) {
        for last in (1..things.len()).rev() {
            things.swap(last, self.stream.random_range(0..=last));
        }
    }
}

/// Return the last name with a number below 1,000 (clause 4.3.2.3).
///
/// ```
/// # use headroom_transactions::systems::transactions::inputs::last_name;
/// assert_eq!(last_name(371), "PRICALLYOUGHT");
/// assert_eq!(last_name(40), "BARPRESBAR");
/// ```
pub fn last_name(number: u32) -> String {
    [number / 100, number / 10 % 10, number % 10]
        .map(|digit| SYLLABLES[digit as usize])
        .concat()
}
