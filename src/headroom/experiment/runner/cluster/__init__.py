"""Simulations on several machines, measurements on others: the executors on Dask distributed.

Rooms: `address` reads `--on`, `connection` opens and checks a cluster, `dask_executor` hands chunks
to it, `parcel` packs what they need, `on_worker` runs them there. `host` holds a machine that is
measured, `on_host` is its other end.

Invariant: only `connection` and `dask_executor` import Dask, and only when a cluster is named.
"""
