"""A web shop: users, web servers, and a database behind a pool of connections."""

from typing import Annotated

from headroom.simulation import Model, exponential
from headroom.systems.model import parameter

_CHOSEN = "assumed: chosen for this example, a shop of ordinary size"


def build(
    *,
    users: Annotated[
        int,
        parameter(
            unit="1", low=1, high=100_000, source=_CHOSEN, description="Users with the shop open"
        ),
    ] = 150,
    think_s: Annotated[
        float,
        parameter(
            unit="s",
            low=0.01,
            high=600.0,
            source=_CHOSEN,
            description="Mean time a user looks at a page before asking for the next",
        ),
    ] = 1.0,
    web_servers: Annotated[
        int,
        parameter(
            unit="1", low=1, high=1000, source=_CHOSEN, description="Web servers, one queue for all"
        ),
    ] = 2,
    web_server_cores: Annotated[
        int,
        parameter(unit="1", low=1, high=256, source=_CHOSEN, description="Cores of a web server"),
    ] = 2,
    web_ms: Annotated[
        float,
        parameter(
            unit="ms",
            low=0.01,
            high=1e4,
            source=_CHOSEN,
            description="Mean web time of a page, half of it before the queries and half after",
        ),
    ] = 14.0,
    connections: Annotated[
        int,
        parameter(
            unit="1", low=1, high=10_000, source=_CHOSEN, description="Connections to the database"
        ),
    ] = 20,
    database_cores: Annotated[
        int,
        parameter(unit="1", low=1, high=1024, source=_CHOSEN, description="Cores of the database"),
    ] = 2,
    queries: Annotated[
        int,
        parameter(unit="1", low=1, high=1000, source=_CHOSEN, description="Queries of a page"),
    ] = 3,
    query_ms: Annotated[
        float,
        parameter(
            unit="ms", low=0.01, high=1e4, source=_CHOSEN, description="Mean core time of a query"
        ),
    ] = 3.0,
    network_ms: Annotated[
        float,
        parameter(
            unit="ms",
            low=0.0,
            high=1000.0,
            source=_CHOSEN,
            description="Time on the network of a query, there and back, connection held",
        ),
    ] = 0.5,
    purchase: Annotated[
        str,
        parameter(unit="", source=_CHOSEN, description="Name of what was bought, for the report"),
    ] = "nothing",
) -> Model:
    """Return the shop.

    A page needs the web servers, then one connection for all its queries, then the web servers
    again. The connection is held also while a query waits for a core of the database.
    """
    model = Model(f"web shop, bought: {purchase}", time_unit="ms")
    web = model.station("web", servers=web_servers * web_server_cores)
    database = model.station("database", servers=database_cores)
    pool = model.pool("connections", tokens=connections)

    page = model.program("page")
    page.use(web, exponential(web_ms / 2))
    with page.holding(pool), page.loop(queries):
        page.delay(network_ms)
        page.use(database, exponential(query_ms))
    page.use(web, exponential(web_ms / 2))

    model.closed_class("users", page, population=users, think=exponential(1000 * think_s))
    return model
