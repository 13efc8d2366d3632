"""Models of JMT (JSIMgraph, JSIMwiz): read from its files, and written to them."""

from headroom.jmt.read import read_jsimg

__all__ = ["read_jsimg"]
