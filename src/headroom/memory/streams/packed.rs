//! Accesses in 8 bytes each.

use std::io::Read;

use super::{ADDRESS_BITS, Access, Kind};

/// First bytes of a packed stream.
pub const MAGIC: &[u8; 8] = b"HRMEM1\n\0";
const KIND_BITS: u32 = 62;
/// Most bytes of a packed access.
const MOST_BYTES: u32 = 1 << (KIND_BITS - ADDRESS_BITS);

/// Return an access as packed ones: more than 64 bytes take several.
pub fn pack(access: Access) -> impl Iterator<Item = u64> {
    let kind: u64 = match access.kind {
        Kind::Read => 0,
        Kind::Write => 1,
        Kind::Modify => 2,
        Kind::Fetch => 3,
    };
    let steps = (0..access.bytes).step_by(MOST_BYTES as usize);
    steps.map(move |from| {
        let bytes = (access.bytes - from).min(MOST_BYTES);
        let address = access.address + u64::from(from);
        kind << KIND_BITS | u64::from(bytes - 1) << ADDRESS_BITS | address
    })
}

/// Hand every whole packed access to `each`; return their number.
#[allow(clippy::cast_possible_truncation, reason = "six bits")]
pub fn unpack(packed: &[u8], each: &mut impl FnMut(Access)) -> u64 {
    let (words, _) = packed.as_chunks::<8>();
    for word in words {
        let word = u64::from_le_bytes(*word);
        let kind = match word >> KIND_BITS {
            0 => Kind::Read,
            1 => Kind::Write,
            2 => Kind::Modify,
            _ => Kind::Fetch,
        };
        let bytes = (word >> ADDRESS_BITS) as u32 % MOST_BYTES + 1;
        each(Access {
            kind,
            address: word & ((1 << ADDRESS_BITS) - 1),
            bytes,
        });
    }
    words.len() as u64
}

/// Hand every packed access of a file to `each`; return their number.
pub fn read(reader: &mut impl Read, each: &mut impl FnMut(Access)) -> Result<u64, String> {
    let mut buffer = vec![0; 1 << 16];
    let (mut held, mut count) = (0, 0);
    loop {
        let length = reader
            .read(&mut buffer[held..])
            .map_err(|error| error.to_string())?;
        held += length;
        count += unpack(&buffer[..held], each);
        let rest = held % 8;
        if length == 0 {
            return if rest == 0 {
                Ok(count)
            } else {
                Err("the last access is incomplete".to_owned())
            };
        }
        buffer.copy_within(held - rest..held, 0);
        held = rest;
    }
}
