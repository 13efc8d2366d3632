//! Every format gives back what was written in it, and a wrong line is named.

use std::fmt::Write as _;

use super::*;
use proptest::prelude::*;

/// A line of a format for an access, if the format has its kind and size.
type Written = fn(&Access, u64) -> Option<String>;

#[allow(clippy::unnecessary_wraps, reason = "one of several formats")]
fn lackey(access: &Access, _: u64) -> Option<String> {
    let label = match access.kind {
        Kind::Fetch => "I ",
        Kind::Read => " L",
        Kind::Write => " S",
        Kind::Modify => " M",
    };
    Some(format!("{label} {:08x},{}", access.address, access.bytes))
}

fn din(access: &Access, _: u64) -> Option<String> {
    let label = match access.kind {
        Kind::Read => 0,
        Kind::Write => 1,
        Kind::Fetch => 2,
        Kind::Modify => return None,
    };
    (access.bytes == 1).then(|| format!("{label} {:x}", access.address))
}

fn view(access: &Access, thread: u64) -> Option<String> {
    let (label, end) = match access.kind {
        Kind::Read => ("read", "by PC 0x0000000000401000"),
        Kind::Write => ("write", "by PC 0x0000000000401000"),
        Kind::Fetch => (
            "ifetch",
            "48 8b 5c 24 08       mov    0x08(%rsp)[8byte] -> %rbx",
        ),
        Kind::Modify => return None,
    };
    let thread = format!("W0.T{thread}");
    let (bytes, address) = (access.bytes, access.address);
    Some(format!(
        "{:12}{:12}: {thread:>11} {label:<12}{bytes:2} byte(s) @ 0x{address:016x} {end}",
        47446, 37770
    ))
}

fn memtrace_simple(access: &Access, _: u64) -> Option<String> {
    let label = match access.kind {
        Kind::Read => "r",
        Kind::Write => "w",
        Kind::Fetch => "rep movs",
        Kind::Modify => return None,
    };
    Some(format!(
        "0x{:x}: {:2}, {label}",
        access.address, access.bytes
    ))
}

fn memtrace_x86(access: &Access, _: u64) -> Option<String> {
    let label = match access.kind {
        Kind::Read => "r",
        Kind::Write => "w",
        Kind::Modify | Kind::Fetch => return None,
    };
    Some(format!(
        "0x401000,{label},{},0x{:x}",
        access.bytes, access.address
    ))
}

const FORMATS: [Written; 5] = [lackey, din, view, memtrace_simple, memtrace_x86];

fn accesses() -> impl Strategy<Value = Vec<(Access, u64)>> {
    let kind = prop_oneof![
        Just(Kind::Read),
        Just(Kind::Write),
        Just(Kind::Modify),
        Just(Kind::Fetch)
    ];
    let address = prop_oneof![0..4096_u64, 0..(1_u64 << ADDRESS_BITS) - 4096];
    let bytes = prop_oneof![Just(1_u32), 1..=64_u32];
    let access = (kind, address, bytes).prop_map(|(kind, address, bytes)| Access {
        kind,
        address,
        bytes,
    });
    prop::collection::vec((access, 0..4_u64), 0..100)
}

fn all(file: &[u8]) -> Result<Vec<Access>, String> {
    let mut found = Vec::new();
    read(file, &mut |one| found.push(one)).map(|_| found)
}

fn packed(accesses: &[Access]) -> Vec<u8> {
    let words = accesses.iter().flat_map(|&access| pack(access));
    MAGIC
        .iter()
        .copied()
        .chain(words.flat_map(u64::to_le_bytes))
        .collect()
}

proptest! {
    /// Text to accesses, to packed ones, to the same accesses.
    #[test]
    fn accesses_are_the_same_in_every_format(given in accesses()) {
        for format in FORMATS {
            let (mut text, mut written) = (String::new(), Vec::new());
            for (access, thread) in &given {
                if let Some(line) = format(access, *thread) {
                    writeln!(text, "{line}").expect("memory");
                    written.push(*access);
                }
            }
            let found = all(text.as_bytes()).expect("sound");
            prop_assert_eq!(&found, &written);
            prop_assert_eq!(&all(&packed(&found)).expect("sound"), &written);
        }
    }

    /// Oracle: the accesses of each thread, filtered from all.
    #[test]
    fn threads_have_their_own_accesses_in_order(given in accesses()) {
        let given: Vec<_> = given.into_iter().filter(|(one, _)| one.kind != Kind::Modify).collect();
        let lines: Vec<_> = given.iter().filter_map(|(one, thread)| view(one, *thread)).collect();
        let mut found: Vec<Vec<Access>> = Vec::new();
        let names = read_threads(lines.join("\n").as_bytes(), &mut |thread, access| {
            found.resize(found.len().max(thread + 1), Vec::new());
            found[thread].push(access);
        });
        let names = names.expect("sound");
        prop_assert_eq!(names.len(), found.len());
        for (name, found) in names.iter().zip(&found) {
            let own = given.iter().filter(|(_, thread)| *name == format!("W0.T{thread}"));
            prop_assert_eq!(found, &own.map(|(one, _)| *one).collect::<Vec<_>>());
        }
    }

    #[test]
    fn bytes_of_any_kind_are_read_or_refused(text in prop::collection::vec(any::<u8>(), 0..200)) {
        // Whatever the answer, there is one.
        let found = all(&text);
        prop_assert!(found.is_ok_and(|all| all.len() <= text.len()) || all(&text).is_err());
    }
}

/// The sample of the documents of drmemtrace, with a switch of threads and a signal.
const SAMPLE: &str = "\
Output format:
<--record#-> <--instr#->: <---tid---> <record details>
------------------------------------------------------------
           1           0:     2765542 <marker: version 5>
           3           0:     2765542 <marker: cache line size 64>
       47444       37769:     2765543 ifetch       6 byte(s) @ 0x0000000000404a78 0f 84 5b 01 00 00    jz     $0x0000000000404bd9 (untaken)
       47446       37770:     2765543 read         8 byte(s) @ 0x00007fdf64e2adc8 by PC 0x0000000000404a7e
       47449       37773:     2765543 ifetch      11 byte(s) @ 0x0000000000404a8d 48 8d bb e0 02 00 00 lea    0x000002e0(%rbx) -> %rdi
       47449       37773:     2765543                                             00 00 00 00
       47450       37774:     2765543 pref-r-L1    0 byte(s) @ 0x0000000000404b00 by PC 0x0000000000404a94
       47451       37774:     2765543 <marker: system call 273>
------------------------------------------------------------
       47452       37774:     2765542 <marker: timestamp 13334804716609227>
       47455       37775:     2765542 write        8 byte(s) @ 0x00007ffd90c13950 by PC 0x000000000040257d
       47456       37776:     2765542 ifetch       3 byte(s) @ 0x0000000000402580 non-branch
       47457       37776:     2765542 ifetch       3 byte(s) @ 0x0000000000402580 non-fetched instruction
       47458       37776:     2765542 <thread 2765542 exited>
View tool results:
          37777 : total instructions
";

#[test]
fn the_sample_of_drmemtrace_has_five_accesses_of_two_threads() {
    let mut found = Vec::new();
    let names = read_threads(SAMPLE.as_bytes(), &mut |thread, access| {
        found.push((thread, access.kind, access.address, access.bytes));
    });
    assert_eq!(names.expect("sound"), ["2765543", "2765542"]);
    assert_eq!(
        found,
        [
            (0, Kind::Fetch, 0x0040_4a78, 6),
            (0, Kind::Read, 0x7fdf_64e2_adc8, 8),
            (0, Kind::Fetch, 0x0040_4a8d, 11),
            (1, Kind::Write, 0x7ffd_90c1_3950, 8),
            (1, Kind::Fetch, 0x0040_2580, 3),
        ]
    );
}

/// The examples in the sources of the clients.
#[test]
fn the_samples_of_memtrace_are_read() {
    let simple = b"Format: <data address>: <data size>, <(r)ead/(w)rite/opcode>\n\
        0x7f59c2d002d3:  5, call\n0x7ffeacab0ec8:  8, w\n";
    let call = Access {
        kind: Kind::Fetch,
        address: 0x7f59_c2d0_02d3,
        bytes: 5,
    };
    let write = Access {
        kind: Kind::Write,
        address: 0x7ffe_acab_0ec8,
        bytes: 8,
    };
    assert_eq!(all(simple).expect("sound"), [call, write]);
    let x86 = b"Format: <instr address>,<(r)ead/(w)rite>,<data size>,<data address>\n\
        0x7f59c2d002d3,w,8,0x7ffeacab0ec8\n";
    assert_eq!(all(x86).expect("sound"), [write]);
}

#[test]
fn what_valgrind_says_is_left_out() {
    let text = b"==1== Lackey\nI  04001000,3\n L 1ffe7e0,8\n S 1f,4\n--1-- so\n M 20,2\n";
    let kinds: Vec<_> = all(text)
        .expect("sound")
        .iter()
        .map(|one| one.kind)
        .collect();
    assert_eq!(kinds, [Kind::Fetch, Kind::Read, Kind::Write, Kind::Modify]);
    let mut names = Vec::new();
    let found = read_threads(&text[..], &mut |thread, _| names.push(thread));
    assert_eq!((found, names), (Ok(vec![String::new()]), vec![0; 4]));
}

#[test]
fn a_din_line_may_have_more_words() {
    let din = all(b"0 1ffe\n1 0x20\n2 4000 extra\n").expect("sound");
    let kinds: Vec<_> = din.iter().map(|one| (one.kind, one.address)).collect();
    assert_eq!(
        kinds,
        [
            (Kind::Read, 0x1ffe),
            (Kind::Write, 0x20),
            (Kind::Fetch, 0x4000)
        ]
    );
}

#[test]
fn a_long_access_is_packed_in_parts() {
    let long = Access {
        kind: Kind::Write,
        address: 0x1000,
        bytes: 150,
    };
    let parts = all(&packed(&[long])).expect("sound");
    let parts: Vec<_> = parts.iter().map(|one| (one.address, one.bytes)).collect();
    assert_eq!(parts, [(0x1000, 64), (0x1040, 64), (0x1080, 22)]);
}

#[test]
fn an_incomplete_packed_access_is_refused() {
    let mut file = packed(&[Access {
        kind: Kind::Read,
        address: 1,
        bytes: 1,
    }]);
    file.pop();
    assert!(all(&file).is_err_and(|why| why.contains("incomplete")));
}

/// Every beginning of a line of view that lacks some of its addresses is refused.
#[test]
fn a_line_of_view_that_was_cut_is_refused() {
    let access = Access {
        kind: Kind::Read,
        address: 0x7fdf_64e2_adc8,
        bytes: 8,
    };
    let line = view(&access, 7).expect("view has reads");
    assert!(all(line.as_bytes()).is_ok());
    let label = line.find("W0").expect("the thread");
    for end in label..line.len() {
        assert!(all(&line.as_bytes()[..end]).is_err(), "{}", &line[..end]);
    }
}

#[test]
fn a_wrong_line_is_named_with_the_reason() {
    for (wrong, why) in [
        ("hello", "not an access"),
        (" L 1ffe", "incomplete"),
        (" L xyz,8", "address"),
        (" L 1ffe,0", "size"),
        (" L 1ffe,65537", "size"),
        (" L 1ffe,", "size"),
        ("3 1ffe", "not an access"),
        ("0 ", "address"),
        (" L 1ffffffffffffffff,8", "address"),
        (" L fffffffffffffd,8", "address"),
        ("0x1ffe", "incomplete"),
        ("0x1ffe: 8", "incomplete"),
        ("0x1ffe: 8,", "incomplete"),
        ("0x1ffe: x, r", "size"),
        ("0x1ffg: 8, r", "address"),
        ("0x400,r,8", "incomplete"),
        ("0x400,x,8,0x1ffe", "not an access"),
        ("0x400,r,8,1ffe", "address"),
        ("1 1: x7 read 8 byte(s) @ 0x10 by PC 0x20", "thread"),
        ("1 1: 7 peek 8 byte(s) @ 0x10 by PC 0x20", "not an access"),
        ("1 1: 7 read 8 byte(s) at 0x10 by PC 0x20", "incomplete"),
        ("1 1: 7 read 0 byte(s) @ 0x10 by PC 0x20", "size"),
        ("1 1: 7 read 8 byte(s) @ 0x1g by PC 0x20", "address"),
        ("1 1: 7 ifetch 8 byte(s) @ 0x10", "incomplete"),
    ] {
        let text = format!("I  04001000,3\n{wrong}\n");
        let said = all(text.as_bytes()).expect_err(wrong);
        assert!(said.starts_with("line 2: ") && said.contains(why), "{said}");
    }
}
