"""Analysis of single runs: warm-up, batches, windows, histograms, time series."""
