//! Words of one thread become accesses and events.

use super::events::{Access, Event, Kind};
use super::format::{
    ADDRESS_BITS, CODE_SHIFT, EVENT_ACQUIRED, EVENT_ALLOCATED, EVENT_BEGUN, EVENT_CODE,
    EVENT_ENDED, EVENT_ENTERED, EVENT_FREED, EVENT_JOINED, EVENT_LEFT, EVENT_ORDER_ACQUIRE,
    EVENT_ORDER_RELEASE, EVENT_PASSED, EVENT_POSTED, EVENT_READ_RANGE, EVENT_REGION_BEGUN,
    EVENT_REGION_ENDED, EVENT_RELEASED, EVENT_SITE, EVENT_STARTED, EVENT_WRITE_RANGE, KINDS,
    NO_THREAD, SITE_BIAS, SIZES,
};

const PAYLOAD: u64 = (1 << ADDRESS_BITS) - 1;
/// Bits between the code and the payload.
const MIDDLE: u64 = (1 << (CODE_SHIFT - ADDRESS_BITS)) - 1;
#[allow(clippy::cast_possible_truncation, reason = "a few sizes")]
const SIZE_COUNT: usize = SIZES as usize;
#[allow(clippy::cast_possible_truncation, reason = "a few codes")]
const ACCESS_CODES: usize = (KINDS * SIZES) as usize;

/// When something may be handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Whenever its thread comes to it.
    Free,
    /// After all smaller stamps.
    Stamp(u64),
    /// After all stamps below this number.
    After(u64),
}

/// Anything that is not a plain access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A range.
    Access(Access),
    /// An event.
    Event(Event),
    /// Order alone, or a site.
    Nothing,
}

/// An event with its place in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// When it may be handed out.
    pub order: Order,
    /// Access or event that is handed out.
    pub content: Content,
    /// Words that it takes.
    pub length: usize,
}

/// Decodes the words of one thread, in their order.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    site: u64,
}

impl Decoder {
    /// Return the access of a word, None if it is something else.
    #[inline]
    pub fn access(&mut self, word: u64) -> Option<Access> {
        let code = (word >> CODE_SHIFT) as usize;
        if code >= ACCESS_CODES {
            return None;
        }
        let step = word >> ADDRESS_BITS & MIDDLE;
        self.site = self.site.wrapping_add(step).wrapping_sub(SITE_BIAS) & PAYLOAD;
        Some(Access {
            address: word & PAYLOAD,
            bytes: 1 << (code % SIZE_COUNT),
            kind: Kind::ALL[code / SIZE_COUNT],
            site: self.site,
        })
    }

    /// Return the event at the start of the words, which are the rest of a chunk.
    ///
    /// # Errors
    ///
    /// Says why there is none.
    pub fn event(&mut self, words: &[u64]) -> Result<Step, String> {
        let word = words[0];
        if word >> CODE_SHIFT != EVENT_CODE {
            return Err(format!(
                "the word {word:#018x} is neither an access nor an event"
            ));
        }
        let (kind, payload) = (word >> ADDRESS_BITS & MIDDLE, word & PAYLOAD);
        let length = 1 + operand_count(kind)
            .ok_or_else(|| format!("the word {word:#018x} is an event of unknown kind {kind}"))?;
        let operands = words.get(1..length).ok_or_else(|| {
            let left = words.len();
            format!("an event of kind {kind} has {length} words, but its chunk ends after {left}")
        })?;
        if kind == EVENT_SITE {
            self.site = payload;
        }
        let content = content(kind, payload, operands)?;
        let order = order(kind, payload);
        Ok(Step {
            order,
            content,
            length,
        })
    }
}

/// Return the words that follow the first one of an event, None if there is no such kind.
const fn operand_count(kind: u64) -> Option<usize> {
    match kind {
        EVENT_SITE | EVENT_BEGUN | EVENT_ENDED | EVENT_REGION_BEGUN | EVENT_REGION_ENDED => Some(0),
        EVENT_ORDER_RELEASE | EVENT_ORDER_ACQUIRE | EVENT_FREED | EVENT_STARTED | EVENT_JOINED
        | EVENT_ENTERED | EVENT_LEFT | EVENT_ACQUIRED | EVENT_RELEASED => Some(1),
        EVENT_READ_RANGE | EVENT_WRITE_RANGE | EVENT_POSTED | EVENT_PASSED => Some(2),
        EVENT_ALLOCATED => Some(3),
        _ => None,
    }
}

const fn order(kind: u64, payload: u64) -> Order {
    match kind {
        EVENT_SITE | EVENT_READ_RANGE | EVENT_WRITE_RANGE => Order::Free,
        EVENT_ALLOCATED | EVENT_ORDER_ACQUIRE | EVENT_BEGUN | EVENT_JOINED | EVENT_LEFT
        | EVENT_ACQUIRED | EVENT_PASSED => Order::After(payload),
        _ => Order::Stamp(payload),
    }
}

fn content(kind: u64, payload: u64, operands: &[u64]) -> Result<Content, String> {
    let event = match kind {
        EVENT_SITE => return Ok(Content::Nothing),
        EVENT_ORDER_RELEASE | EVENT_ORDER_ACQUIRE if operands[0] == 0 => {
            return Ok(Content::Nothing);
        }
        EVENT_ORDER_RELEASE => Event::Changed {
            object: place("address", operands[0])?,
        },
        EVENT_ORDER_ACQUIRE => Event::Saw {
            object: place("address", operands[0])?,
        },
        EVENT_POSTED => Event::Posted {
            semaphore: place("address", operands[0])?,
            value: small("value", operands[1])?,
        },
        EVENT_PASSED => Event::Passed {
            semaphore: place("address", operands[0])?,
            value: small("value", operands[1])?,
        },
        EVENT_READ_RANGE => return range(Kind::Read, payload, operands),
        EVENT_WRITE_RANGE => return range(Kind::Write, payload, operands),
        EVENT_BEGUN => Event::Begun,
        EVENT_ENDED => Event::Ended,
        EVENT_REGION_BEGUN => Event::RegionBegun,
        EVENT_REGION_ENDED => Event::RegionEnded,
        EVENT_ALLOCATED => Event::Allocated {
            address: place("address", operands[0])?,
            bytes: operands[1],
            site: place("site", operands[2])?,
        },
        EVENT_FREED => Event::Freed {
            address: place("address", operands[0])?,
        },
        EVENT_STARTED => Event::Started {
            child: thread(operands[0])?,
        },
        EVENT_JOINED => Event::Joined {
            child: if operands[0] == NO_THREAD {
                None
            } else {
                Some(thread(operands[0])?)
            },
        },
        EVENT_ENTERED => Event::Entered {
            barrier: place("address", operands[0])?,
        },
        EVENT_LEFT => Event::Left {
            barrier: place("address", operands[0])?,
        },
        EVENT_ACQUIRED => Event::Acquired {
            lock: place("address", operands[0])?,
        },
        _ => Event::Released {
            lock: place("address", operands[0])?,
        },
    };
    Ok(Content::Event(event))
}

fn range(kind: Kind, bytes: u64, operands: &[u64]) -> Result<Content, String> {
    if bytes == 0 {
        return Err("an access of 0 bytes".to_owned());
    }
    Ok(Content::Access(Access {
        address: place("address", operands[0])?,
        bytes,
        kind,
        site: place("site", operands[1])?,
    }))
}

fn place(name: &str, operand: u64) -> Result<u64, String> {
    if operand > PAYLOAD {
        return Err(format!(
            "the {name} {operand:#x} has more than {ADDRESS_BITS} bits"
        ));
    }
    Ok(operand)
}

fn small(name: &str, operand: u64) -> Result<u32, String> {
    u32::try_from(operand).map_err(|_| format!("the {name} {operand} has more than 32 bits"))
}

fn thread(operand: u64) -> Result<u32, String> {
    u32::try_from(operand)
        .ok()
        .filter(|&thread| u64::from(thread) < NO_THREAD)
        .ok_or_else(|| format!("there is no thread {operand}"))
}
