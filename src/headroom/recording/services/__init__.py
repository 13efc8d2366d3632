"""Long-running programs beside a measurement: started, checked, limited, disturbed, ended."""
