"""Statistics of a study: warm-up, intervals, bottlenecks, knees and claims."""
