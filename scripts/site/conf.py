"""Settings of Sphinx for the site; `scripts.site.build` copies this file beside its sources."""

import os

project = "Headroom"
author = "The Headroom developers"
copyright = author  # noqa: A001 - the name that Sphinx reads

extensions = ["myst_nb"]
exclude_patterns: list[str] = []
suppress_warnings = ["myst.header"]
# Headings of pages are link targets, as on the hosts that show Markdown.
myst_heading_anchors = 4
myst_enable_extensions = ["html_image"]
# A notebook of a measurement takes its time; without outputs the site is built in seconds.
nb_execution_mode = os.environ.get("HEADROOM_SITE_NOTEBOOKS", "off")
nb_execution_timeout = 600
nb_execution_raise_on_error = True
nb_merge_streams = True

html_theme = "furo"
html_title = "Headroom"
html_copy_source = False
html_show_sourcelink = False
