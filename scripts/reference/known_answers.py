"""The page of models with a known answer, from the stored results of the benchmark."""

from benches.known_answers import load, table

OPENING = """# Known answers: does the simulator say what theory says?

Some models have an exact answer, from a formula or from the balance equations of a small Markov
chain. This benchmark simulates them and compares:

```console
$ .venv/bin/python -m benches.known_answers
```

It takes about 90 seconds of processor time, in two processes, and writes
`benches/results/known_answers.json`. Seeds are fixed and runs have the same bits on every machine,
so the numbers are reproducible to the last digit:

```console
$ .venv/bin/python -m benches.known_answers --table
"""

READING = """```

## How to read it

- The mean service time is one second unless stated otherwise. **Answer** is the theoretical value,
  its **source** the formula or method, with the paper. [Solvers](../background/solvers.md) names
  the papers in full; textbooks are Kleinrock, *Queueing Systems* (1975, 1976), and Gross & Harris,
  *Fundamentals of Queueing Theory* (1998). *Balance equations* are solved directly; infinite chains
  end at states rarer than 1e-12.
- **Simulated** is the mean of 30 replications with separate seeds, **99.9%** the half-width of its
  Student-t interval. By chance one answer in a thousand is outside; it stays in the table with the
  word *differs*.
- **Warm-up.** Each replication drops a fixed time, chosen before any run: 5,000 s, over 20
  relaxation times of the slowest queue; less for small closed models, more for the central server
  of many jobs, which also starts near its steady state.
- **Could it fail?** A wide interval contains everything. So each model runs again, a third as long,
  with services 3% slower, and the interval should exclude the answer. The third line counts how
  often it does. The other answers depend little on service times (users who mostly think, servers
  that are broken), or the shorter run cannot resolve 3%.
- **Approximations** are not expected to agree. The formula for the fork and join of four is a few
  per cent off; at a load of 0.5 the line below it has the exact value of its chain.

The models are in `benches/known`; `src/headroom/simulation/runs/test_oracles.py` runs them at a
reduced length.
"""


def known_answers() -> str:
    """Return the page."""
    return f"{OPENING}{table(load())}\n{READING}"
