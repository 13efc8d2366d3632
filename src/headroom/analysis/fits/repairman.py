"""The machine repairman: clients who think and share servers with one queue.

Source: e.g. Lazowska et al., *Quantitative System Performance* (1984).
"""

import numpy as np


def repairman(clients: int, think_s: float, service_s: float, servers: int) -> float:
    """Return the throughput of clients who think and share servers with one queue.

    Examples
    --------
    >>> round(repairman(20, 1.0, 0.05, 1), 4), repairman(5, 0.0, 0.5, 2)
    (16.8222, 4.0)
    """
    if think_s <= 0.0:
        return min(clients, servers) / service_s
    jobs = np.arange(1, clients + 1)
    busy = np.minimum(jobs, servers)
    steps = np.log((clients - jobs + 1) / think_s) + np.log(service_s / busy)
    weights = np.concatenate([[0.0], np.cumsum(steps)])
    shares = np.exp(weights - weights.max())
    return float(shares[1:] @ busy / shares.sum() / service_s)
