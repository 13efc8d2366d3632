//! Streams of accesses, packed: each the same with every call.

use headroom::memory::streams::{Access, Kind, pack};

const WORD: u32 = 8;
/// Bytes (B) that the streams reach.
const SPREAD: u64 = 64 << 20;
const LINE: u64 = 64;

/// Return `count` accesses of a kind of stream, None if there is no such kind.
pub fn packed(kind: &str, count: usize) -> Option<Vec<u8>> {
    let mut stream = Vec::with_capacity(8 * count);
    let mut add = |address: u64, kind: Kind| {
        let access = Access {
            kind,
            address,
            bytes: WORD,
        };
        stream.extend(pack(access).flat_map(u64::to_le_bytes));
        stream.len() < 8 * count
    };
    match kind {
        "sequential" => sequential(&mut add),
        "random" => random(&mut add),
        "zipf" => zipf(&mut add),
        "blocked" => blocked(&mut add),
        _ => return None,
    }
    Some(stream)
}

/// A third of random accesses write.
fn kind(number: u64) -> Kind {
    if number % 3 == 0 {
        Kind::Write
    } else {
        Kind::Read
    }
}

/// Words one after the other, from the start again at the end.
fn sequential(add: &mut impl FnMut(u64, Kind) -> bool) {
    let mut address = 0;
    while add(address, kind(address / u64::from(WORD))) {
        address = (address + u64::from(WORD)) % SPREAD;
    }
}

/// Any word.
fn random(add: &mut impl FnMut(u64, Kind) -> bool) {
    let mut numbers = Numbers(1);
    while add(
        numbers.next() % (SPREAD / u64::from(WORD)) * u64::from(WORD),
        kind(numbers.next()),
    ) {}
}

/// Lines of which the n-th most popular one is used in proportion to 1 / n, anywhere.
fn zipf(add: &mut impl FnMut(u64, Kind) -> bool) {
    let mut numbers = Numbers(2);
    let mut sum = 0.0;
    let sums: Vec<f64> = (1..=SPREAD / LINE)
        .map(|rank| {
            sum += 1.0 / rank as f64;
            sum
        })
        .collect();
    loop {
        let drawn = numbers.next() as f64 / (1_u64 << 32) as f64 * sum;
        let rank = sums.partition_point(|&one| one < drawn) as u64;
        // An odd factor gives each rank another line.
        let line = rank.wrapping_mul(0x9E37_79B9_7F4A_7C15) % (SPREAD / LINE);
        if !add(line * LINE, kind(numbers.next())) {
            return;
        }
    }
}

/// LU decomposition of 1,024 x 1,024 words in blocks of 32 x 32, without pivoting: the updates of
/// blocks, which are nearly all of it. The factor of a row stays in a register.
fn blocked(add: &mut impl FnMut(u64, Kind) -> bool) {
    const SIZE: u64 = 1024;
    const BLOCK: u64 = 32;
    let at = |row: u64, column: u64| u64::from(WORD) * (SIZE * row + column);
    loop {
        for step in (0..SIZE).step_by(BLOCK as usize) {
            for top in (step + BLOCK..SIZE).step_by(BLOCK as usize) {
                for left in (step + BLOCK..SIZE).step_by(BLOCK as usize) {
                    for row in top..top + BLOCK {
                        for inner in step..step + BLOCK {
                            let mut goes_on = add(at(row, inner), Kind::Read);
                            for column in left..left + BLOCK {
                                goes_on = goes_on
                                    && add(at(inner, column), Kind::Read)
                                    && add(at(row, column), Kind::Read)
                                    && add(at(row, column), Kind::Write);
                            }
                            if !goes_on {
                                return;
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Numbers of 32 bits without pattern, by a xorshift (Marsaglia 2003).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 32
    }
}
