"""fio options that change no result of a study, each with the reason.

Invariant: an option that is neither here nor translated is rejected.
"""

_REPORT = "what is reported and logged: Headroom reports everything it measures"
_MADE = "how files are laid out: Headroom fills its own before the first run, and removes them"
_CHANCE = "chance: Headroom draws from the seed of the study, another one for each replication"
_WORDS = "words for people"

NO_CHANGE: dict[str, str] = {
    **dict.fromkeys(
        ("group_reporting", "new_group", "stats", "write_bw_log", "write_lat_log",
         "write_iops_log", "write_hist_log", "log_avg_msec", "log_hist_msec",
         "log_hist_coarseness", "log_max_value", "log_offset", "log_prio", "log_compression",
         "log_store_compressed", "log_unix_epoch", "per_job_logs", "bwavgtime", "iopsavgtime",
         "clat_percentiles", "lat_percentiles", "slat_percentiles", "percentile_list",
         "significant_figures", "disk_util", "gtod_reduce", "disable_lat", "disable_clat",
         "disable_slat", "disable_bw_measurement", "unified_rw_reporting", "unit_base",
         "block_error_percentiles", "error_dump", "write_iolog"), _REPORT,
    ),
    **dict.fromkeys(
        ("fallocate", "overwrite", "create_serialize", "create_fsync", "create_on_open",
         "allow_file_create", "unlink", "file_append", "filename_format", "unique_filename"),
        _MADE,
    ),
    **dict.fromkeys(("randseed", "randrepeat", "allrandrepeat", "random_generator"), _CHANCE),
    **dict.fromkeys(("description",), _WORDS),
    "norandommap": "offsets are drawn independently of each other here, as this asks",
    "refill_buffers": "what is written is never the same twice here, as this asks",
    "scramble_buffers": "what is written is never the same twice here",
    "thread": "requests come from threads or a ring of one process here",
    "clocksource": "Headroom reads the monotonic clock",
    "invalidate": "the page cache is emptied before each run here, as this asks by default",
    "exitall": "one job runs at a time here",
    "kb_base": "sizes are bytes here",
    "stonewall": "jobs run one after the other here, as this asks",
}  # fmt: skip
"""Option to the reason why it changes nothing."""

ONLY_IF: dict[str, tuple[str, ...]] = {
    "invalidate": ("", "1"),
    "fill_device": ("0",), "thinktime": ("0",), "loops": ("1",), "startdelay": ("0",),
    "nrfiles": ("1",), "openfiles": ("1",), "dedupe_percentage": ("0",), "end_fsync": ("0",),
    "fsync_on_close": ("0",), "sync": ("0", "none"), "hipri": ("0",), "fixedbufs": ("0",),
    "registerfiles": ("0",), "nonvectored": ("0",), "sqthread_poll": ("0",), "offset": ("0",),
    "iodepth_batch": ("1",), "pre_read": ("0",), "do_verify": ("", "1"), "mem": ("malloc",),
    "buffer_compress_chunk": ("", "0", "512"), "atomic": ("0",), "zonemode": ("none",),
    "lockmem": ("0",), "verify_fatal": ("0", "1", ""), "nice": ("0",),
}  # fmt: skip
"""Options that change nothing with these values alone, which match Headroom's own behaviour."""

INSTEAD: dict[str, str] = {
    "thinktime": "remove it, and ask for a rate instead: rate_iops with rate_process=poisson",
    "bssplit": "give each size a job of its own, or write factors = { block_bytes = [...] } after",
    "bsrange": "give each size a job of its own, or write factors = { block_bytes = [...] } after",
    "read_iolog": 'remove it; write workload = "trace", trace_file and trace_format = "fio_iolog" '
    "into the study",
    "end_fsync": "remove it, or sync during the run: fdatasync=N",
    "fsync_on_close": "remove it, or sync during the run: fdatasync=N",
    "sync": "remove it, or make each write durable with fdatasync=1",
    "cpus_allowed": "remove it, and start the whole: taskset -c CPUS headroom run ...",
    "numa_cpu_nodes": "remove it, and start the whole: numactl ... headroom run ...",
    "nice": "remove it, and start the whole: nice headroom run ...",
    "offset": "remove it; write range_start_share into the study",
    "loops": "remove it: replications repeat the job",
    "nrfiles": 'remove it; write kind = "folder" and files = N into the target',
    "startdelay": "remove it",
}
"""Advice on replacing options that are often used."""
