"""What a user writes: a model of stations, pools, programs and job classes."""
