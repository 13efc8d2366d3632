"""What runs in a layered queueing network: all that reference tasks and arrivals lead to.

Entries that nothing calls change no result, and a model may not have them.
"""

from collections.abc import Iterator

from headroom.lqn.document import Activity, Document, Entry, Task


def drop_idle(document: Document) -> None:
    """Remove the entries, activities and tasks that never run.

    Raises
    ------
    SimulationError
        Nothing runs at all.
    """
    entries = document.entries
    reached = dict.fromkeys(
        name for name, (task, entry) in entries.items() if task.is_reference or entry.arrival_rate
    )
    if not reached:
        raise document.place.error(
            "nothing starts any work", cure="add a reference task, or open arrivals at an entry"
        )
    active: dict[str, set[str]] = {name: set() for name in document.tasks}
    waiting = list(reached)
    for name in waiting:
        task, entry = entries[name]
        active[task.name] |= set(_activities_of(task, entry))
        called = [
            call.entry for one in _work_of(task, entry) for call in one.calls if call.mean > 0
        ]
        called += [target for target, share, _ in entry.forwards if share > 0]
        waiting += [one for one in dict.fromkeys(called) if one not in reached]
        reached |= dict.fromkeys(called)
    for task in document.tasks.values():
        task.entries = {name: one for name, one in task.entries.items() if name in reached}
        task.activities = {
            name: one for name, one in task.activities.items() if name in active[task.name]
        }
    document.tasks = {name: task for name, task in document.tasks.items() if task.entries}


def _work_of(task: Task, entry: Entry) -> Iterator[Activity]:
    yield from entry.phases.values()
    yield from (task.activities[name] for name in _activities_of(task, entry))


def _activities_of(task: Task, entry: Entry) -> list[str]:
    """Return the activities that follow the one that an entry starts with."""
    after: dict[str, list[str]] = {}
    for one in task.precedences:
        for name in one.before:
            after.setdefault(name, []).extend((*one.after, *filter(None, [one.end])))
    found = dict.fromkeys([entry.start] if entry.start else [])
    waiting = list(found)
    for name in waiting:
        new = [then for then in dict.fromkeys(after.get(name, ())) if then not in found]
        found |= dict.fromkeys(new)
        waiting += new
    return list(found)
