"""Small static figures of the first screen, drawn as SVG from typed inputs.

Each figure is drawn for the width at which it is shown, so its text never shrinks. Nothing here
reads results: `headroom.report.first_screen` chooses what is drawn.
"""
