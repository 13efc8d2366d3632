"""Models and programs as text: each part on its line, and few lines of a large model."""

from headroom.simulation import Model, exponential

SHOP = """\
Model shop (times in ms)
  station web: 4 servers
  station database: 1 server, ps
  pool connections: 20 tokens
  class users: 100 jobs, think exponential(mean=1000.0), program page
  class guests: arrivals every exponential(mean=10.0), program page
  program page
    attempt: tries 3, timeout 50
      work
        use web: service exponential(mean=14.0), patience 30
    loop: count 3
      acquire connections: tokens 2
      use database: service (2 + (size * 0.5))
      release connections: tokens 2
    network
      node compute: to read or leave
        use web: service 4
      node read: to compute"""


def test_a_model_is_its_stations_pools_classes_and_steps() -> None:
    model = Model("shop", time_unit="ms")
    web, database = model.station("web", servers=4), model.station("database", discipline="ps")
    pool, size = model.pool("connections", tokens=20), model.attribute("size")
    page = model.program("page")
    with page.attempt(timeout=50, tries=3) as attempt, attempt.work():
        page.use(web, exponential(14), patience=30)
    with page.loop(3), page.holding(pool, 2):
        page.use(database, 2 + size * 0.5)
    with page.network() as net:
        with net.node("compute", to={"read": 0.5, net.leave: 0.5}):
            page.use(web, 4)
        with net.node("read", to="compute"):
            pass
    model.closed_class("users", page, population=100, think=exponential(1000))
    model.open_class("guests", page, interarrival=exponential(10))
    assert repr(model) == str(model) == SHOP
    assert repr(page).splitlines() == [line[2:] for line in SHOP.splitlines()[6:]]


def test_a_large_model_is_few_lines_that_count_the_rest() -> None:
    model = Model("large")
    walk = model.program("walk")
    for number in range(1000):
        walk.use(model.station(f"s{number} {'x' * 200}"), 1)
    lines = repr(model).splitlines()
    assert (len(lines), lines[9], lines[-1]) == (28, "  … and 992 more", "    … and 984 more")
    assert max(map(len, lines)) <= 97
