"""A picture of a model: stations, pools and routes as a queueing network, in static SVG.

`draw_model` takes a model as data (`Model.to_data()`, formats 1 and 2) and returns SVG;
`list_model` returns the same information as text. The steps, one file each: data to routes
(`routes`), identical parts folded (`folding`), columns and order (`columns`), heights (`places`),
symbols (`shapes`), positions (`layout`), SVG (`drawing`).

Invariant: the picture is a function of its arguments; no text overlaps another, and no data,
however strange, raises: an unknown step is drawn as a plain box that carries its name.
"""

from headroom.report.model_picture.drawing import Mark, Marks, draw_model
from headroom.report.model_picture.listing import list_model

__all__ = ["Mark", "Marks", "draw_model", "list_model"]
