//! The floor: the lowest cost of random 4 KiB requests on one file.
//!
//! A hand-written loop for this one load: a precomputed table of offsets, registered files and
//! buffers, batches, no times, and no statistics except the number of requests. Nearly all of its
//! cost is the kernel's work, so no tool can be cheaper. Requests that do nothing (`nop`) give the
//! floor of a ring itself; `timed` reads the clock when each request begins and ends, which any
//! tool that reports response times must do. Arguments: path, its size in bytes, `io_uring` or
//! `psync`, `randread`, `randwrite`, `nop` or `timed`, outstanding requests, `direct` or `cached`,
//! seconds. Prints requests, seconds, and processor seconds in the program and in the kernel.

use std::alloc::{Layout, alloc_zeroed};
use std::env;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::time::{Duration, Instant};

use io_uring::types::Fixed;
use io_uring::{IoUring, opcode, squeue};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const BLOCK_BYTES: usize = 4096;
/// Offsets that are drawn before the load, used one after the other, over and over.
const OFFSET_COUNT: usize = 1 << 16;
/// Turns between two readings of the clock.
const TURNS_PER_LOOK: u32 = 32;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [path, bytes, interface, kind, depth, cache, seconds] = &arguments[..] else {
        panic!("path, bytes, interface, kind, depth, cache, seconds");
    };
    let kind = match kind.as_str() {
        "randread" => Kind::Read,
        "randwrite" => Kind::Write,
        "nop" => Kind::Nothing { is_timed: false },
        "timed" => Kind::Nothing { is_timed: true },
        other => panic!("{other} is no kind of request"),
    };
    let file = OpenOptions::new()
        .read(true)
        .write(kind == Kind::Write)
        .custom_flags(if cache == "direct" { libc::O_DIRECT } else { 0 })
        .open(path)
        .expect("the file opens");
    let load = Load {
        file,
        kind,
        depth: depth.parse().expect("a depth"),
        offsets: offsets(bytes.parse().expect("a size")),
        length: Duration::from_secs_f64(seconds.parse().expect("a time")),
    };
    let before = usage();
    let start = Instant::now();
    let count = if interface == "io_uring" { load.through_a_ring() } else { load.by_calls() };
    let (elapsed, after) = (start.elapsed(), usage());
    println!(
        "{count} {} {} {}",
        elapsed.as_secs_f64(),
        after.0 - before.0,
        after.1 - before.1
    );
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Read,
    Write,
    Nothing { is_timed: bool },
}

struct Load {
    file: File,
    kind: Kind,
    depth: u32,
    offsets: Vec<u64>,
    length: Duration,
}

impl Load {
    /// Carry the load out with one call for each request; return how many there were.
    fn by_calls(&self) -> u64 {
        assert_eq!(self.depth, 1, "a call carries one request");
        let buffer = buffer(1);
        let end = Instant::now() + self.length;
        let mut count = 0;
        loop {
            for offset in self.offsets.iter().skip(count as usize % OFFSET_COUNT).take(32) {
                let moved = if self.kind == Kind::Read {
                    self.file.read_at(buffer, *offset)
                } else {
                    self.file.write_at(buffer, *offset)
                };
                assert_eq!(moved.expect("the request succeeds"), BLOCK_BYTES);
                count += 1;
            }
            if Instant::now() >= end {
                return count;
            }
        }
    }

    /// Carry the load out through a ring; return how many requests there were.
    fn through_a_ring(&self) -> u64 {
        let mut ring: IoUring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_coop_taskrun()
            .build(self.depth.next_power_of_two())
            .expect("a ring");
        let buffer = buffer(self.depth as usize);
        let region = libc::iovec {
            iov_base: buffer.as_mut_ptr().cast(),
            iov_len: buffer.len(),
        };
        let submitter = ring.submitter();
        // SAFETY: the buffer is never freed.
        unsafe { submitter.register_buffers(&[region]) }.expect("registered buffers");
        submitter.register_files(&[self.file.as_raw_fd()]).expect("a registered file");
        let end = Instant::now() + self.length;
        let mut next = self.offsets.iter().cycle();
        let mut free: Vec<u32> = (0..self.depth).collect();
        let is_timed = self.kind == Kind::Nothing { is_timed: true };
        let expected = if matches!(self.kind, Kind::Nothing { .. }) { 0 } else { BLOCK_BYTES as i32 };
        let mut begun = vec![Instant::now(); self.depth as usize];
        let mut spent = Duration::ZERO;
        let (mut count, mut turns, mut is_over) = (0, 0, false);
        loop {
            for place in free.drain(..) {
                if is_timed {
                    begun[place as usize] = Instant::now();
                }
                let offset = *next.next().expect("an endless circle");
                let entry = self.entry(place, buffer, offset);
                // SAFETY: file and buffer live until the program ends; a place has one request.
                unsafe { ring.submission().push(&entry) }.expect("room for every place");
            }
            match ring.submit_and_wait(1) {
                Ok(_) => {}
                Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
                Err(error) => panic!("the ring: {error}"),
            }
            for done in ring.completion() {
                assert_eq!(done.result(), expected, "the request succeeds");
                if is_timed {
                    spent += begun[done.user_data() as usize].elapsed();
                }
                free.push(done.user_data() as u32);
                count += 1;
            }
            turns += 1;
            if turns % TURNS_PER_LOOK == 0 && !is_over {
                is_over = Instant::now() >= end;
            }
            if is_over {
                std::hint::black_box(spent);
                // The kernel waits for requests in flight when the ring is closed.
                return count;
            }
        }
    }

    fn entry(&self, place: u32, buffer: &mut [u8], offset: u64) -> squeue::Entry {
        let part = buffer[place as usize * BLOCK_BYTES..].as_mut_ptr();
        let length = BLOCK_BYTES as u32;
        match self.kind {
            Kind::Read => opcode::ReadFixed::new(Fixed(0), part, length, 0).offset(offset).build(),
            Kind::Write => opcode::WriteFixed::new(Fixed(0), part, length, 0).offset(offset).build(),
            Kind::Nothing { .. } => opcode::Nop::new().build(),
        }
        .user_data(u64::from(place))
    }
}

/// Return memory for `depth` requests, at the border of a page; it is never freed.
fn buffer(depth: usize) -> &'static mut [u8] {
    let bytes = depth * BLOCK_BYTES;
    let layout = Layout::from_size_align(bytes, BLOCK_BYTES).expect("a small size");
    // SAFETY: the size is not zero; the memory is zeroed, and has no other owner.
    unsafe { std::slice::from_raw_parts_mut(alloc_zeroed(layout), bytes) }
}

fn offsets(bytes: u64) -> Vec<u64> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let blocks = bytes / BLOCK_BYTES as u64;
    (0..OFFSET_COUNT)
        .map(|_| random.random_range(0..blocks) * BLOCK_BYTES as u64)
        .collect()
}

/// Return the processor time (s) of the process in the program and in the kernel.
fn usage() -> (f64, f64) {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the call fills the structure; zeros are a valid value of it in any case.
    let usage = unsafe {
        assert_eq!(libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()), 0, "{}", io::Error::last_os_error());
        usage.assume_init()
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    (seconds(usage.ru_utime), seconds(usage.ru_stime))
}
