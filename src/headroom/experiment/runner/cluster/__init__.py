"""Simulations on several machines: the executor on Dask distributed.

Rooms: `address` reads `--on`, `connection` opens and checks a cluster, `dask_executor` hands chunks
to it, `parcel` packs what they need, `on_worker` runs them there.

Invariant: only `connection` and `dask_executor` import Dask, and only when a cluster is named.
"""
