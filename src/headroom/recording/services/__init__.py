"""Long-running programs around a measurement: started, checked, limited, disturbed, ended."""
