"""The smallest configuration that meets a target: searched with formulas, settled by simulation."""
