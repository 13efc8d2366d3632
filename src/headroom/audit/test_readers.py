"""What tools print, read figure by figure; the figures were taken from the texts by eye."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from headroom.audit.audit import audit
from headroom.audit.readers.recognise import read_all
from headroom.audit.result import Result, Stated

YCSB = """\
java -cp ycsb site.ycsb.Client -load -threads 8 -target 500
[OVERALL], RunTime(ms), 10110
[OVERALL], Throughput(ops/sec), 98.91196834817013
[READ], Operations, 501
[READ], AverageLatency(us), 1234.5
[READ], MinLatency(us), 300
[READ], MaxLatency(us), 90047
[READ], 95thPercentileLatency(us), 2051
[READ], 99thPercentileLatency(us), 4103
[READ], Return=OK, 501
[UPDATE], Operations, 499
[UPDATE], AverageLatency(us), 2000.1
[UPDATE], MinLatency(us), 500
[UPDATE], MaxLatency(us), 9007
[UPDATE], 95thPercentileLatency(us), 3051
[UPDATE], 99thPercentileLatency(us), 5103
[UPDATE], Return=OK, 479
[UPDATE], Return=ERROR, 20
"""
SCYLLA_BENCH = """\
Configuration
Mode:\t\t\t write
Workload:\t\t sequential
Max rate:\t\t unlimited
Concurrency:\t\t 16

Results
Time (avg):\t 10.002s
Total ops:\t 123456
Total rows:\t 123456
Total errors:\t 3000
Operations/s:\t 12343.13
Rows/s:\t\t 12343.13
raw latency :
  max:\t\t 90.1ms
  99.9th:\t 8.2ms
  99th:\t\t 4.1ms
  95th:\t\t 2.5ms
  median:\t 1.1ms
  mean:\t\t 1.25ms
c-o fixed latency :
  max:\t\t 99.1ms
  mean:\t\t 9.25ms
"""
K6_OLD = """\
     checks.........................: 100.00% ✓ 1000      ✗ 0
     data_received..................: 1.1 MB  105 kB/s
     http_req_duration..............: avg=12.34ms min=1.01ms med=10ms max=1m0.1s p(95)=30.5ms
       { expected_response:true }...: avg=12.34ms min=1.01ms med=10ms max=1m0.1s p(95)=30.5ms
     http_req_failed................: 4.00%   ✓ 40        ✗ 960
     http_reqs......................: 1000    99.5/s
     iteration_duration.............: avg=100.2ms min=90ms med=99ms max=150ms p(95)=130ms
     iterations.....................: 1000    99.5/s
     vus............................: 10      min=10      max=10
     vus_max........................: 10      min=10      max=10
"""
K6_NEW = """\
  █ TOTAL RESULTS

    HTTP
    http_req_duration....: avg=850.5µs min=100µs med=800µs max=9ms p(90)=1ms p(95)=2ms
    http_req_failed......: 0.00%  0 out of 300
    http_reqs............: 300    29.5/s

    EXECUTION
    iteration_duration...: avg=1s min=1s med=1s max=1.1s p(90)=1s p(95)=1s
    iterations...........: 300    29.5/s
    vus..................: 30     min=30 max=30
    vus_max..............: 30     min=30 max=30

    NETWORK
    data_received........: 1.1 MB 105 kB/s
"""
HGRM = """\
       Value     Percentile TotalCount 1/(1-Percentile)

       0.500 0.000000000000          1           1.00
       1.000 0.500000000000       5000           2.00
       2.000 0.990625000000       9907         106.67
       9.000 1.000000000000      10000
#[Mean    =        1.050, StdDeviation   =        0.456]
#[Max     =        9.000, Total count    =        10000]
#[Buckets =           20, SubBuckets     =         2048]
"""
SYSBENCH = """\
sysbench /usr/share/sysbench/oltp_read_only.lua --threads=4 --time=10 run
sysbench 1.0.20 (using bundled LuaJIT 2.1.0-beta2)

Running the test with following options:
Number of threads: 4

[ 1s ] thds: 4 tps: 1230.00 qps: 19680.0 lat (ms,95%): 5.60 err/s: 0.00 reconn/s: 0.00
[ 2s ] thds: 4 tps: 1240.00 qps: 19840.0 lat (ms,95%): 5.50 err/s: 0.00 reconn/s: 0.00
SQL statistics:
    queries performed:
        total:                           197520
    transactions:                        12345  (1234.30 per sec.)
    queries:                             197520 (19748.80 per sec.)
    ignored errors:                      617    (61.70 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          10.0016s
    total number of events:              12345

Latency (ms):
         min:                                    0.50
         avg:                                    3.24
         max:                                   45.60
         95th percentile:                        5.57
         sum:                                39997.80

Threads fairness:
    events (avg/stddev):           3086.2500/10.00
"""
OHA = """\
Summary:
  Success rate:\t100.00%
  Total:\t10.0012 sec
  Slowest:\t0.0341 sec
  Fastest:\t0.0001 sec
  Average:\t0.0012 sec
  Requests/sec:\t41228.7525

Response time distribution:
  10.00% in 0.0005 sec
  50.00% in 0.0011 sec
  99.00% in 0.0050 sec
  99.99% in 0.0300 sec

Status code distribution:
  [200] 412337 responses

Error distribution:
  [50] aborted due to deadline
"""
CRITERION = """\
sort/1000               time:   [10.512 µs 10.623 µs 10.745 µs]
                        change: [-1.2% +0.1% +1.4%] (p = 0.90 > 0.05)
"""
GOOGLE: Mapping[str, Any] = {
    "context": {"date": "2026-05-01T10:00:00+00:00", "num_cpus": 2},
    "benchmarks": [
        {"name": "BM_a", "run_name": "BM_a", "run_type": "iteration", "iterations": 100,
         "real_time": time, "cpu_time": time, "time_unit": "us", "threads": 1}
        for time in (10.0, 12.0)
    ] + [{"name": "BM_a_mean", "run_name": "BM_a", "run_type": "aggregate", "time_unit": "us",
          "aggregate_name": "mean", "real_time": 11.0, "cpu_time": 11.0, "threads": 1}],
}  # fmt: skip
PYTEST: Mapping[str, Any] = {
    "machine_info": {}, "datetime": "2026-05-01T10:00:00+00:00",
    "benchmarks": [{"name": "test_a", "fullname": "t.py::test_a", "params": None, "stats": {
        "min": 1.0, "max": 3.0, "mean": 2.0, "stddev": 1.0, "median": 2.0, "rounds": 3,
        "data": [1.0, 2.0, 3.0]}}],
}  # fmt: skip
JMH: list[Mapping[str, Any]] = [
    {"jmhVersion": "1.37", "benchmark": "org.A.sum", "mode": "avgt", "threads": 1, "params": {},
     "primaryMetric": {"score": 2.5, "scoreUnit": "us/op", "rawData": [[2.0, 3.0]],
                       "scorePercentiles": {"50.0": 2.5}}},
    {"jmhVersion": "1.37", "benchmark": "org.A.put", "mode": "thrpt", "threads": 4,
     "params": {"size": "8"}, "primaryMetric": {"score": 5.0, "scoreUnit": "ops/ms",
                                                "rawData": [[4.0, 6.0]], "scorePercentiles": {}}},
]  # fmt: skip


def read(text: str) -> list[Result]:
    return [one for part in read_all(text, "file") for one in part.results]


def about(stated: Stated | None, value: float) -> bool:
    """Return whether a number was stated, and is that within its own error."""
    return stated is not None and stated.low * 0.999 <= value <= stated.high * 1.001


def test_ycsb_has_a_result_for_each_operation_and_for_all() -> None:
    everything, reads, updates = read(YCSB)
    assert (everything.count, everything.clients, everything.offered) == (1000, 8.0, 500.0)
    assert (reads.name, reads.count, reads.failed) == ("read", 501, 0.0)
    assert about(reads.mean, 1234.5e-6)
    assert about(reads.percentiles[0.99], 4103e-6)
    assert (updates.failed, updates.settings["errors"]) == (20.0, "20 ERROR")
    checks = {one.check for one in audit([everything, reads, updates]).findings}
    assert {"failures", "offered load"} <= checks


def test_scylla_bench_is_read_with_its_errors_and_raw_latencies() -> None:
    (one,) = read(SCYLLA_BENCH)
    assert (one.count, one.clients, one.lost) == (123456, 16.0, 3000.0)
    assert about(one.duration_s, 10.002)
    assert about(one.mean, 1.25e-3)
    assert about(one.high, 90.1e-3)
    assert about(one.percentiles[0.999], 8.2e-3)
    assert about(one.percentiles[0.5], 1.1e-3)
    assert [found.check for found in audit([one]).findings] == ["failures"]


@pytest.mark.parametrize("count", [1, 2])
def test_summaries_of_k6_for_people_are_read_in_both_layouts(count: int) -> None:
    results = read("\n".join([K6_OLD, K6_NEW][:count]))
    assert len(results) == 2 * count
    requests = [one for one in results if one.view == "http_reqs"]
    old = requests[0]
    assert (old.count, old.clients) == (1000, 10.0)
    assert old.failed == pytest.approx(40.0)
    assert about(old.mean, 12.34e-3)
    assert about(old.high, 60.1)
    assert about(old.percentiles[0.5], 10e-3)
    if count == 2:
        new = requests[1]
        assert (new.count, new.clients, new.failed) == (300, 30.0, 0.0)
        assert about(new.mean, 850.5e-6)
        assert about(new.throughput, 29.5)


def test_a_histogram_bounds_its_mean() -> None:
    (one,) = read(HGRM)
    assert one.count == 10000
    assert about(one.mean, 1.05e-3)
    assert about(one.percentiles[0.5], 1.0e-3)
    assert not audit([one]).findings
    (wrong,) = read(HGRM.replace("#[Mean    =        1.050", "#[Mean    =        7.050"))
    assert [found.check for found in audit([wrong]).contradictions][:1] == ["mean"]


def test_sysbench_counts_transactions_and_what_it_ignored() -> None:
    (one,) = read(SYSBENCH)
    assert (one.name, one.version, one.count) == ("oltp_read_only", "1.0.20", 12345)
    assert (one.clients, one.lost, one.rates.tolist()) == (4.0, 617.0, [1230.0, 1240.0])
    assert about(one.throughput, 1234.3)
    assert about(one.mean, 3.24e-3)
    assert about(one.percentiles[0.95], 5.57e-3)
    assert [found.check for found in audit([one]).findings] == ["failures"]


def test_what_oha_cut_off_at_its_end_is_no_failure() -> None:
    (one,) = read(OHA)
    assert (one.tool, one.count, one.lost, one.failed) == ("oha", 412337, 0.0, 0.0)
    assert about(one.mean, 0.0012)
    assert about(one.percentiles[0.9999], 0.03)
    assert not audit([one]).findings


def test_benchmarks_of_functions_have_their_repetitions_as_runs() -> None:
    (google,) = read(json.dumps(GOOGLE))
    assert google.runs_s.tolist() == pytest.approx([10e-6, 12e-6])
    assert about(google.mean, 11e-6)
    assert google.taken == "2026-05-01T10:00:00+00:00"
    assert not audit([google]).findings
    (pytest_,) = read(json.dumps(PYTEST))
    assert pytest_.runs_s.tolist() == [1.0, 2.0, 3.0]
    time, rate = read(json.dumps(JMH))
    assert time.runs_s.tolist() == pytest.approx([2e-6, 3e-6])
    assert about(time.mean, 2.5e-6)
    assert about(rate.throughput, 5000.0)
    assert rate.levels == {"benchmark": "org.A.put", "size": "8"}
    (sort,) = read(CRITERION)
    assert sort.name == "sort/1000"
    assert about(sort.mean, 10.623e-6)


def test_a_mean_that_is_not_of_its_times_is_found_in_each_of_them() -> None:
    google = json.loads(json.dumps(GOOGLE))
    google["benchmarks"][2]["real_time"] = 15.0
    changed = json.loads(json.dumps(PYTEST))
    changed["benchmarks"][0]["stats"]["median"] = 2.5
    for document in (google, changed):
        found = audit(read(json.dumps(document)))
        assert "recomputed" in [one.check for one in found.contradictions]


def test_a_failed_test_of_go_is_no_result() -> None:
    text = "BenchmarkA-2 \t 100\t 120.5 ns/op\n--- FAIL: BenchmarkB-2\nFAIL\n"
    (one,) = read(text)
    assert "FAIL" in one.error
    assert audit([one]).findings[0].check == "failures"


FIO: Mapping[str, Any] = {
    "fio version": "fio-3.36", "timestamp": 1795578153,
    "jobs": [{
        "jobname": "j", "groupid": 0, "error": 0, "total_err": 0,
        "job options": {"rw": "randwrite", "bs": "4k", "iodepth": "4", "ioengine": "libaio",
                        "direct": "1"},
        "write": {"io_bytes": 163840000, "iops": 4000.0, "runtime": 10000, "total_ios": 40000,
                  "lat_ns": {"mean": 1e6}, "clat_ns": {
                      "min": 200000, "max": 9000000, "mean": 1e6, "stddev": 3e5, "N": 40000,
                      "percentile": {"50.000000": 950000, "99.000000": 2000000}}},
        "usr_cpu": 1.0, "sys_cpu": 2.0,
    }],
}  # fmt: skip


def test_a_job_of_fio_that_ended_with_an_error_is_not_called_possible() -> None:
    document = json.loads(json.dumps(FIO))
    document["jobs"][0]["error"] = 28
    (one,) = read(json.dumps(document))
    assert one.taken == "2026-11-25T03:42:33+00:00"
    found = audit([one])
    assert [(each.level, each.check) for each in found.findings] == [("misleading", "failures")]
    assert "error 28 (No space left on device)" in found.findings[0].figure
    document["jobs"][0]["write"]["total_ios"] = 0
    (nothing,) = read(json.dumps(document))
    assert nothing.is_failure


def test_times_of_fio_2_are_microseconds() -> None:
    document = json.loads(json.dumps(FIO).replace("_ns", ""))
    write = document["jobs"][0]["write"]
    write["clat"] = {"min": 200, "max": 9000, "mean": 1000.0, "stddev": 300.0,
                     "percentile": {"50.000000": 950}}  # fmt: skip
    write["lat"] = {"mean": 1000.0}
    (one,) = read(json.dumps(document))
    assert about(one.mean, 1e-3)
    assert about(one.percentiles[0.5], 950e-6)
    assert not audit([one]).findings


def test_one_run_of_fio_that_is_told_twice_is_one_result() -> None:
    """`--output-format=json,normal` prints both."""
    text = (
        "j: (g=0): rw=randwrite, bs=(R) 4096B-4096B, ioengine=libaio, iodepth=4\n"
        + json.dumps(FIO, indent=1)
        + "\nj: (groupid=0, jobs=1): err= 0: pid=7: now\n"
        "  write: IOPS=4000, BW=15.6MiB/s (16.4MB/s)(156MiB/10000msec)\n"
    )
    (one,) = read(text)
    assert one.count == 40000
    assert len(read(text.replace("IOPS=4000", "IOPS=3000"))) == 2


def test_runs_that_failed_are_no_times_of_a_program() -> None:
    """Cause: a program that crashed was called 10.0 times as fast."""
    row = {"command": "build", "mean": 0.4, "times": [0.4, 0.41, 0.39], "exit_codes": [2, 2, None]}
    (one,) = read(json.dumps({"results": [row]}))
    assert one.is_failure
    found = audit([one])
    assert "3 of 3 runs failed" in found.findings[0].figure
    assert "exit code 2" in found.findings[0].figure


def test_errors_of_sockets_are_failures_and_refused_connections_no_load() -> None:
    text = """\
Running 10s test @ http://127.0.0.1:9000/
  2 threads and 1000 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency    40.00ms    2.00ms  90.00ms   90.00%
  64000 requests in 10.00s, 10.00MB read
  Socket errors: connect 750, read 9000, write 0, timeout 6000
Requests/sec:   6400.00
"""
    (one,) = read(text)
    assert (one.lost, one.refused) == (15000.0, 750.0)
    figures = [each.figure for each in audit([one]).findings]
    assert figures[0].startswith("15,000 of 79,000 requests failed, 19.0%")
    assert figures[1] == "750 of 1,000 connections could not be made"


def test_a_virtual_user_of_hammerdb_that_failed_is_told() -> None:
    text = (
        "Vuser 1:TEST RESULT : System achieved 60 NOPM from 180 PostgreSQL TPM\n"
        "Vuser 2:FINISHED FAILED\n"
    )
    found = audit(read(text))
    assert {each.check for each in found.findings} == {"failures"}
