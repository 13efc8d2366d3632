"""Find the smallest configuration that meets a target: search by formulas, settle by simulation."""
