"""Inside one run: warm-up, batches, windows, histograms, series over time."""
