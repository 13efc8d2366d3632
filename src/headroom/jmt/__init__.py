"""Read and write models of JMT (JSIMgraph, JSIMwiz), and read those of JMVA."""

from headroom.jmt.mva_in import read_jmva
from headroom.jmt.read import read_jsimg
from headroom.jmt.write import jsimg_text, write_jsimg

SUFFIXES = (".jsimg", ".jsimgw", ".jsimw", ".jsim")
"""How the names of files end that `read_jsimg` reads."""

__all__ = ["SUFFIXES", "jsimg_text", "read_jmva", "read_jsimg", "write_jsimg"]
