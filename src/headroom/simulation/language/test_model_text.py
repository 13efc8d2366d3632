"""Models and programs as text: each part on its line, and few lines of a large model."""

from headroom.simulation import Model, exponential

SHOP = """\
Model shop (times in ms)
  station web: 4 servers
  station database: 1 server, ps, at most 3 served
  station desk: a server for each job
  pool connections: 20 tokens
  class users: 100 jobs, think exponential(mean=1000.0), program page
  class guests: arrivals every exponential(mean=10.0), program page
  program page
    attempt: 3 tries, timeout 50
      work
        use web: exponential(mean=14.0), patience 30
      failed
        delay: 1
    loop: 3
      acquire connections (2 tokens)
      use database: (2 + (size * 0.5))
      release connections (2 tokens)
    branch
      case: probability 0.25
        use desk: 1
      case: probability 0.75"""
WALK = """\
program walk
  network
    node compute: to read (0.5), leave (0.5)
      use cpu: 4
    node read: to compute
      use disk: 15"""


def test_a_model_is_its_stations_pools_classes_and_steps() -> None:
    model = Model("shop", time_unit="ms")
    web = model.station("web", servers=4)
    database = model.station("database", discipline="ps", limit=3)
    desk = model.station("desk", discipline="infinite")
    pool, size = model.pool("connections", tokens=20), model.attribute("size")
    page = model.program("page")
    with page.attempt(timeout=50, tries=3) as attempt:
        with attempt.work():
            page.use(web, exponential(14), patience=30)
        with attempt.failed():
            page.delay(1)
    with page.loop(3), page.holding(pool, 2):
        page.use(database, 2 + size * 0.5)
    with page.branch() as branch:
        with branch.case(0.25):
            page.use(desk, 1)
        with branch.otherwise():
            pass
    model.closed_class("users", page, population=100, think=exponential(1000))
    model.open_class("guests", page, interarrival=exponential(10))
    assert repr(model) == str(model) == SHOP
    steps = [line.removeprefix("  ") for line in SHOP.splitlines()[7:]]
    assert repr(page).splitlines() == steps


def test_a_node_says_where_it_leads() -> None:
    model = Model("walk")
    walk = model.program("walk")
    with walk.network() as net:
        with net.node("compute", to={"read": 0.5, net.leave: 0.5}):
            walk.use(model.station("cpu"), 4)
        with net.node("read", to="compute"):
            walk.use(model.station("disk"), 15)
    assert repr(walk) == WALK


def test_a_large_model_is_few_lines_that_count_the_rest() -> None:
    model = Model("large")
    walk = model.program("walk")
    for number in range(1000):
        walk.use(model.station(f"s{number} {'x' * 200}"), 1)
    lines = repr(model).splitlines()
    assert len(lines) < 30
    assert "  … and 992 more stations" in lines
    assert lines[-1] == "    … and 984 more steps"
    assert max(map(len, lines)) <= 96
