//! Tests of traces: a fixture of each format, a round trip of every format, and folding.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::tests::{drawn, made, refused};
use super::write::{Dialect, OwnedEntry, written};
use super::*;
use crate::systems::storage::workloads::request::Kind;

fn read_all(text: &str, format: Format) -> Result<Vec<OwnedEntry>, WorkloadError> {
    let mut reader = TraceReader::new(Cursor::new(text.as_bytes().to_vec()), format);
    let mut entries = Vec::new();
    while let Some(entry) = reader.next_entry()? {
        entries.push(OwnedEntry {
            time_ns: entry.time_ns,
            device: entry.device.name(),
            kind: entry.kind,
            offset: entry.offset,
            length: entry.length,
        });
    }
    Ok(entries)
}

fn entry(time_ns: u64, device: &str, kind: Kind, offset: u64, length: u64) -> OwnedEntry {
    let device = device.to_owned();
    OwnedEntry {
        time_ns,
        device,
        kind,
        offset,
        length,
    }
}

#[test]
fn a_log_of_fio_version_2_is_read_with_its_waits() {
    let text = "fio version 2 iolog\n/tmp/a add\n/tmp/a open\n/tmp/a write 4096 8192\n\
        /tmp/a wait 1500 0\n/tmp/a read 0 512\n/tmp/a wait 50 0\n/tmp/a datasync 0 0\n\
        /tmp/a trim 1024 512\n/tmp/a close\n";
    let expected = [
        entry(0, "/tmp/a", Kind::Write, 4096, 8192),
        entry(1_500_000, "/tmp/a", Kind::Read, 0, 512),
        entry(1_550_000, "/tmp/a", Kind::DataSync, 0, 0),
        entry(1_550_000, "/tmp/a", Kind::Trim, 1024, 512),
    ];
    assert_eq!(read_all(text, Format::FioIolog), Ok(expected.to_vec()));
}

#[test]
fn a_log_of_fio_version_3_is_read_with_its_times() {
    let text = "fio version 3 iolog\n0 /tmp/a add\n3 /tmp/a open\n12 /tmp/a read 4096 4096\n\
        250 /tmp/a sync 0 0\n251 /tmp/a close\n";
    let expected = [
        entry(12_000, "/tmp/a", Kind::Read, 4096, 4096),
        entry(250_000, "/tmp/a", Kind::Sync, 0, 0),
    ];
    assert_eq!(read_all(text, Format::FioIolog), Ok(expected.to_vec()));
}

#[test]
fn blkparse_text_is_read_as_requests_were_queued() {
    let text = "  8,0    3        1     0.000000000   697  Q   W 223490 + 8 [kjournald]\n\
        \x20 8,0    3        2     0.000001829   697  G   W 223490 + 8 [kjournald]\n\
        \x20 8,0    3        3     0.000002197   697  P   N [kjournald]\n\
        \x20 8,0    1        4     0.004000123   698  Q  RA 512 + 256 [cat]\n\
        \x20 8,0    1        5     0.004100000   698  C  RA 512 + 256 [0]\n\
        \x20 8,16   1        6     1.000000000   699  Q FWS [sync]\n\
        \x20 8,16   1        7     1.000000001   699  Q FWFS 16 + 8 [jbd2]\n\
        \x20 8,16   1        8     2.500000000   699  Q  DS 2048 + 2048 [fstrim]\n\
        \x20 8,16   1        9     2.600000000   699  Q  WS [jbd2]\n\
        CPU1 (8,0):\n Reads Queued:           1,      128KiB\n";
    let expected = [
        entry(0, "8,0", Kind::Write, 223_490 * 512, 4096),
        entry(4_000_123, "8,0", Kind::Read, 262_144, 131_072),
        entry(1_000_000_000, "8,16", Kind::Sync, 0, 0),
        entry(1_000_000_001, "8,16", Kind::Write, 8192, 4096),
        entry(2_500_000_000, "8,16", Kind::Trim, 1_048_576, 1_048_576),
    ];
    assert_eq!(read_all(text, Format::Blkparse), Ok(expected.to_vec()));
}

#[test]
fn traces_of_msr_cambridge_are_read() {
    let text = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\r\n\
        128166372003061629,hm,1,Read,383496192,32768,413\r\n\
        128166372016382155,hm,1,Write,2822144000,65536,1298\r\n";
    let expected = [
        entry(
            12_816_637_200_306_162_900,
            "hm.1",
            Kind::Read,
            383_496_192,
            32_768,
        ),
        entry(
            12_816_637_201_638_215_500,
            "hm.1",
            Kind::Write,
            2_822_144_000,
            65_536,
        ),
    ];
    assert_eq!(read_all(text, Format::Msr), Ok(expected.to_vec()));
}

/// The first line is that of the specification's own example.
#[test]
fn traces_of_the_storage_performance_council_are_read() {
    let text = "0,20941264,8192,W,0.551706\n1, 90, 512, r, 12, extra, 3\n";
    let expected = [
        entry(551_706_000, "0", Kind::Write, 20_941_264 * 512, 8192),
        entry(12_000_000_000, "1", Kind::Read, 46_080, 512),
    ];
    assert_eq!(read_all(text, Format::Spc), Ok(expected.to_vec()));
}

#[test]
fn malformed_lines_are_named_with_their_number() {
    let cases = [
        (Format::FioIolog, "fio version 4 iolog\n", 1, "first line"),
        (
            Format::FioIolog,
            "fio version 2 iolog\na read 0 4096\na read 0\n",
            3,
            "length",
        ),
        (
            Format::FioIolog,
            "fio version 2 iolog\na erase 0 1\n",
            2,
            "action",
        ),
        (
            Format::FioIolog,
            "fio version 3 iolog\n1 a wait 5 0\n",
            2,
            "no action `wait`",
        ),
        (Format::Blkparse, "8,0 1 1 0.5 7 Q R 12 8 [cat]\n", 1, "'+'"),
        (Format::Blkparse, "8,0 1 1 half 7 Q R 12 + 8\n", 1, "time"),
        (
            Format::Msr,
            "1,hm,1,Read,0,1,1\n\n2,hm,1,Peek,0,1,1\n",
            3,
            "type",
        ),
        (Format::Msr, "1,hm,1,Read,-5,1,1\n", 1, "offset"),
        (Format::Spc, "0,1,512,R,1.0\n0,1,512,R\n", 2, "time"),
        (Format::Spc, "0,1,512,X,1.0\n", 1, "opcode"),
        (
            Format::Spc,
            "0,99999999999999999999,512,R,1.0\n",
            1,
            "block",
        ),
        (Format::Spc, "0,1,512,R,1.0e3\n", 1, "time"),
    ];
    for (format, text, line, word) in cases {
        let error = read_all(text, format).expect_err(text);
        assert!(error.key.contains(&format!("line {line} ")), "{error}");
        assert!(error.problem.contains(word), "{error}");
    }
    let mut reader = TraceReader::new(Cursor::new(vec![b'0'; 70_000]), Format::Spc);
    assert!(
        reader
            .next_entry()
            .expect_err("no end")
            .problem
            .contains("64 KiB")
    );
    let mut reader = TraceReader::new(Cursor::new(b"0,1\xff\n".to_vec()), Format::Spc);
    assert!(
        reader
            .next_entry()
            .expect_err("no text")
            .problem
            .contains("UTF-8")
    );
}

fn any_entries(dialect: Dialect) -> impl Strategy<Value = Vec<OwnedEntry>> {
    let kinds = match dialect {
        Dialect::FioIolog2 | Dialect::FioIolog3 => {
            vec![
                Kind::Read,
                Kind::Write,
                Kind::Trim,
                Kind::Sync,
                Kind::DataSync,
            ]
        }
        Dialect::Blkparse => vec![Kind::Read, Kind::Write, Kind::Trim, Kind::Sync],
        Dialect::Msr | Dialect::Spc => vec![Kind::Read, Kind::Write],
    };
    let devices = match dialect {
        Dialect::FioIolog2 | Dialect::FioIolog3 => ["/tmp/a", "/data/b"],
        Dialect::Blkparse => ["8,0", "253,16"],
        Dialect::Msr => ["hm.0", "proj.12"],
        Dialect::Spc => ["0", "7"],
    };
    let one = (
        0..1_000_000_000_u64,
        prop::sample::select(devices.to_vec()),
        prop::sample::select(kinds),
        0..1_u64 << 40,
        1..4096_u64,
    );
    prop::collection::vec(one, 0..40).prop_map(move |list| {
        let mut time_ns = 0;
        let made = |(gap, device, kind, sector, sectors): (u64, &str, Kind, u64, u64)| {
            time_ns += gap / dialect.unit_ns() * dialect.unit_ns();
            match kind {
                Kind::Sync | Kind::DataSync => entry(time_ns, device, kind, 0, 0),
                _ => entry(time_ns, device, kind, 512 * sector, 512 * sectors),
            }
        };
        list.into_iter().map(made).collect()
    })
}

fn any_trace() -> impl Strategy<Value = (Dialect, Vec<OwnedEntry>)> {
    prop::sample::select(vec![
        Dialect::FioIolog2,
        Dialect::FioIolog3,
        Dialect::Blkparse,
        Dialect::Msr,
        Dialect::Spc,
    ])
    .prop_flat_map(|dialect| (Just(dialect), any_entries(dialect)))
}

fn workload(text: &str, format: &str) -> Value {
    json!({"kind": "trace", "format": format, "text": text})
}

proptest! {
    #[test]
    fn what_is_written_is_read_back((dialect, entries) in any_trace()) {
        let text = written(&entries, dialect).expect("sayable");
        prop_assert_eq!(read_all(&text, dialect.format()), Ok(entries));
    }

    #[test]
    fn any_text_is_read_or_refused_and_never_breaks(
        text in "([0-9]{1,3},){0,3}[ -~\n]{0,80}",
        format in prop::sample::select(formats::FORMATS.to_vec()),
    ) {
        let _ = read_all(&text, format);
        let _ = read_all(&format!("fio version 2 iolog\n{text}"), format);
    }

    #[test]
    fn requests_stay_inside_the_target_and_every_change_is_counted(
        entries in any_entries(Dialect::Spc),
        bytes in 4096..1_u64 << 42,
        align in prop::sample::select(vec![512_u64, 4096]),
        scale in 0.01..10.0_f64,
    ) {
        prop_assume!(entries.last().is_some_and(|last| last.time_ns > entries[0].time_ns));
        let text = written(&entries, Dialect::Spc).expect("sayable");
        let mut workload = workload(&text, "spc");
        workload["align_bytes"] = json!(align);
        workload["time_scale"] = json!(scale);
        let mut source = made(&workload, 1, bytes);
        let requests = drawn(&mut *source, 0, 100);
        prop_assert_eq!(requests.len(), entries.len());
        let mut due_ns = Some(0);
        for (request, entry) in requests.iter().zip(&entries) {
            prop_assert_eq!(request.kind, entry.kind);
            prop_assert_eq!(request.offset % align, 0);
            prop_assert_eq!(u64::from(request.length) % align, 0);
            prop_assert!(request.offset + u64::from(request.length) <= bytes);
            prop_assert!(request.due_ns >= due_ns);
            let scaled = (entry.time_ns - entries[0].time_ns) as f64 * scale;
            prop_assert!((request.due_ns.expect("timed") as f64 - scaled).abs() <= 1.0);
            due_ns = request.due_ns;
        }
        let (_, changes) = look_at(&workload, bytes).expect("right");
        prop_assert_eq!(changes.counters().into_iter().filter(|one| one.1 > 0).collect::<Vec<_>>(),
            source.counters().into_iter().filter(|one| one.1 > 0).collect::<Vec<_>>());
        prop_assert_eq!(changes.given, entries.len() as u64);
        let (a, b) = entries.iter().fold((0, 0), |(a, b), one| match one.device.as_str() {
            "0" => (a.max(one.offset + one.length), b),
            _ => (a, b.max(one.offset + one.length)),
        });
        let fits = a.next_multiple_of(align) + b.next_multiple_of(align) <= bytes / align * align;
        if fits {
            prop_assert_eq!((changes.folded, changes.moved, changes.cut), (0, 0, 0));
        }
    }
}

#[test]
fn devices_lie_one_behind_the_other_and_what_is_beyond_is_folded() {
    let text = "1,0,512,W,0.0\n0,4,1024,R,1.0\n1,1,512,W,2.0\n1,6,2048,R,3.0\n";
    let offsets = |bytes: u64| -> Vec<u64> {
        let mut source = made(&workload(text, "spc"), 1, bytes);
        drawn(&mut *source, 0, 9)
            .iter()
            .map(|one| one.offset / 512)
            .collect()
    };
    // Device 0 ends at sector 6, so device 1 begins there.
    assert_eq!(offsets(1 << 20), [6, 4, 7, 12]);
    // Eight sectors: 12 becomes 4, and four sectors fit there just so.
    assert_eq!(offsets(8 * 512), [6, 4, 7, 4]);
    // Seven: 7 becomes 0, 12 becomes 5, moved to 3.
    assert_eq!(offsets(7 * 512), [6, 4, 0, 3]);
    let (_, changes) = look_at(&workload(text, "spc"), 7 * 512).expect("right");
    assert_eq!((changes.folded, changes.moved, changes.cut), (2, 1, 0));
}

#[test]
fn a_replay_is_cut_scaled_and_restricted_as_asked() {
    let text = "0,0,512,R,10.0\n1,1,512,W,11.0\n0,2,512,R,12.0\n0,3,512,R,11.5\n0,4,0,R,13.0\n\
        0,5,512,R,14.0\n";
    let mut asked = workload(text, "spc");
    asked["start_s"] = json!(1.0);
    asked["duration_s"] = json!(3.0);
    asked["time_scale"] = json!(0.5);
    asked["devices"] = json!(["0"]);
    let mut source = made(&asked, 1, 1 << 20);
    let due: Vec<_> = drawn(&mut *source, 0, 9)
        .iter()
        .map(|one| one.due_ns)
        .collect();
    assert_eq!(due, [Some(500_000_000), Some(500_000_000)]);
    let counters = source.counters();
    let counter = |name| counters.iter().find(|one| one.0 == name).expect("known").1;
    assert_eq!(counter("trace_requests"), 2);
    assert_eq!(counter("trace_requests_left_out"), 3);
    assert_eq!(counter("trace_requests_empty"), 1);
    assert_eq!(counter("trace_requests_reordered"), 1);
    asked["timing"] = json!("as_fast");
    let mut source = made(&asked, 1, 1 << 20);
    assert!(
        drawn(&mut *source, 0, 9)
            .iter()
            .all(|one| one.due_ns.is_none())
    );
}

#[test]
fn a_description_counts_what_is_there() {
    let text = "0,0,512,R,5.0\n0,1,512,W,6.0\n0,8,8192,W,4.0\n1,0,4096,R,7.0\n\n";
    let found = look_at(&workload(text, "spc"), 1 << 20).expect("right").0;
    assert_eq!(
        (found.request_count, found.read_count, found.write_count),
        (4, 2, 2)
    );
    assert_eq!((found.read_bytes, found.write_bytes), (4608, 8704));
    assert!((found.read_share() - 0.5).abs() < 1e-12);
    assert_eq!((found.duration_ns, found.earlier_count), (2_000_000_000, 1));
    // Device 0: blocks 0, 1 and 2 of 4 KiB; device 1: block 0.
    assert_eq!(found.footprint_bytes, 4 * 4096);
    assert_eq!(found.skipped_count, 1);
    assert!(found.sizes.into_iter().eq([(512, 2), (4096, 1), (8192, 1)]));
    assert_eq!(found.devices["0"].end, 4096 + 8192);
}

#[test]
fn traces_that_cannot_be_replayed_are_refused() {
    let untimed = "fio version 2 iolog\na read 0 512\na read 512 512\n";
    assert_eq!(
        refused(&workload(untimed, "fio_iolog"), 1 << 20).key,
        "workload.timing"
    );
    assert_eq!(
        refused(&workload("", "spc"), 1 << 20).key,
        "workload.format"
    );
    let broken = refused(&workload("0,1,512,R,0.0\nbroken\n", "spc"), 1 << 20);
    assert!(broken.key.contains("line 2 "), "{broken}");
    let timed = "0,1,512,R,0.0\n0,1,512,R,9.0\n";
    for (name, value) in [
        ("start_s", json!(9.5)),
        ("start_s", json!(-1.0)),
        ("time_scale", json!(0.0)),
        ("devices", json!(["2"])),
        ("align_bytes", json!(1 << 21)),
        ("fd", json!(1)),
        ("format", json!("csv")),
        ("depth", json!(0)),
    ] {
        let mut wrong = workload(timed, "spc");
        wrong[name] = value;
        assert_eq!(refused(&wrong, 1 << 20).key, format!("workload.{name}"));
    }
}

#[test]
fn a_trace_is_read_through_the_descriptor_of_an_open_file() {
    use std::io::Write as _;
    use std::os::fd::AsRawFd as _;
    let path = std::env::temp_dir().join(format!("headroom-trace-{}", std::process::id()));
    let mut file = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path)
        .expect("a new file");
    // An open file without a name is enough.
    std::fs::remove_file(&path).expect("removed");
    file.write_all(b"0,1,512,R,0.0\n0,3,512,W,1.0\n")
        .expect("written");
    let by_file = json!({"kind": "trace", "format": "spc", "fd": file.as_raw_fd()});
    let requests = drawn(&mut *made(&by_file, 1, 1 << 20), 0, 9);
    let in_text = workload("0,1,512,R,0.0\n0,3,512,W,1.0\n", "spc");
    assert_eq!(requests, drawn(&mut *made(&in_text, 1, 1 << 20), 0, 9));
    let nothing = json!({"kind": "trace", "format": "spc", "fd": 1_000_000});
    assert_eq!(refused(&nothing, 1 << 20).key, "workload.fd");
}
