"""Exact solutions of small networks, which share no code with Headroom.

Times are in seconds. A metric that grows without bound is infinite; one without formula is missing.
Open networks are solved station by station (Jackson 1957), closed ones by convolution (Buzen 1973).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benches.known.formulas import convolution, mmc_response_tail, mmc_wait, servers_factors


@dataclass(frozen=True, slots=True, kw_only=True)
class Station:
    """Servers with exponential services and some `places` behind them, None without limit."""

    servers: int
    service: float
    places: int | None = None
    is_priority: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """A class of jobs that visits stations: Poisson arrivals at `rate`, or `users` who think."""

    route: Sequence[str]
    rate: float = 0.0
    users: int = 0
    think: float = 0.0
    priority: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Stations, and the classes that visit them: all open, or a single closed one."""

    stations: Mapping[str, Station]
    loads: Mapping[str, Load]

    def offered(self, place: str, above: float = -math.inf) -> float:
        """Return the open load that a station is offered per server, of high priorities."""
        station = self.stations[place]
        own = [x for x in self.loads.values() if place in x.route and x.priority > above]
        return sum(load.rate for load in own) * station.service / station.servers


def solve(network: Network) -> dict[str, float]:
    """Return the metrics of a network that have a formula."""
    loads, stations = network.loads, network.stations
    if any(load.users for load in loads.values()):
        return _closed(network)
    found: dict[str, float] = {}
    for name, load in loads.items():
        waits = {place: _wait(network, place, load.priority) for place in load.route}
        stay = sum(waits[place] + stations[place].service for place in load.route)
        found[f"class.{name}.response_s_mean"] = stay
        found |= {f"station.{place}.wait_s_mean": wait for place, wait in waits.items()
                  if not stations[place].is_priority}  # fmt: skip
    offered = {place: network.offered(place) for place in stations}
    found |= {f"station.{place}.utilization": min(a, 1.0) for place, a in offered.items()}
    if len(loads) == 1:
        found["response_s_mean"] = stay
        found["throughput"] = load.rate / max(1.0, *offered.values())
        if len(stations) == 1:
            found |= _alone(*next(iter(stations.items())), name, load.rate)
    return found


def _wait(network: Network, place: str, priority: int) -> float:
    """Return the mean wait at a station, by Cobham for a priority if that counts."""
    station, busy = network.stations[place], network.offered(place)
    if station.is_priority:
        at_least, above = network.offered(place, priority - 1), network.offered(place, priority)
        waiting = min(busy, 1.0) * station.service / ((1.0 - above) * (1.0 - at_least))
        return math.inf if at_least >= 1.0 else waiting
    load = busy * station.servers
    return math.inf if busy >= 1.0 else mmc_wait(station.servers, load) * station.service


def _alone(place: str, station: Station, name: str, rate: float) -> dict[str, float]:
    """Return the percentile of M/M/c, or what differs in M/M/c/K (Kleinrock 1975, chapter 3)."""
    load, servers, shares = rate * station.service * (1 + 1e-9), station.servers, [1.0]  # No 0 / 0.
    if station.places is None:
        if load >= servers:
            return {"response_s_p95": math.inf}
        low, high = 0.0, 600.0
        for _ in range(100):
            middle = (low + high) / 2.0
            is_late = mmc_response_tail(servers, load, middle) > 0.05  # noqa: PLR2004
            low, high = (middle, high) if is_late else (low, middle)
        return {"response_s_p95": low * station.service}
    for count in range(1, servers + station.places + 1):
        shares.append(shares[-1] * load / min(count, servers))
    served = 1.0 - shares[-1] / sum(shares)
    jobs = sum(count * share for count, share in enumerate(shares)) / sum(shares)
    return {
        f"class.{name}.lost_ratio": 1.0 - served,
        f"station.{place}.utilization": load * served / servers,
        "throughput": rate * served,
        f"station.{place}.wait_s_mean": jobs / (rate * served) - station.service,
        "response_s_mean": jobs / (rate * served),
        f"class.{name}.response_s_mean": jobs / (rate * served),
    }


def _closed(network: Network) -> dict[str, float]:
    """Return the metrics of one closed class in product form."""
    (load,) = network.loads.values()
    users, scale = load.users, max(s.service for s in network.stations.values())
    times = [(s.service, s.servers) for s in network.stations.values()] + [(load.think, users)]
    *_, fewer, ways = convolution([servers_factors(t / scale, m, users) for t, m in times])
    rate = fewer / ways / scale
    return {
        "throughput": rate,
        "response_s_mean": users / rate - load.think,
        **{f"station.{name}.utilization": rate * s.service / s.servers
           for name, s in network.stations.items()},
    }  # fmt: skip
