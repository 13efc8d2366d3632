"""Every table of an experiment, in the order of the page."""

from collections.abc import Iterator

from headroom.analysis.results import ExperimentResult
from headroom.report.charts.sections import section_tables
from headroom.report.extent import Extent
from headroom.report.findings.beside import theory_table
from headroom.report.findings.comparisons import comparisons_table
from headroom.report.findings.crossovers import crossovers_table
from headroom.report.findings.derived import derived_tables
from headroom.report.findings.fits import candidates_table, fitted_table, residual_table
from headroom.report.findings.headroom_left import limits_table
from headroom.report.findings.laws import law_table
from headroom.report.findings.what_if import what_if_table
from headroom.report.tables.over_time import course_table, series_table
from headroom.report.tables.replication_table import replication_table
from headroom.report.tables.state_tables import class_tables
from headroom.report.tables.tables import Table, points_table, resources_table

_METRICS_COMPARED = 6
"""Rows for each point of tables that have one for each point and metric."""


def tables_of(experiment: ExperimentResult, extent: Extent) -> Iterator[tuple[str, Table]]:
    """Yield each table that has rows, with the line behind which it is folded; most have none."""
    rows = extent.rows
    compared = comparisons_table(experiment, at_most=rows * _METRICS_COMPARED)
    found: list[tuple[str, Table | None]] = [
        ("", points_table(experiment, at_most=rows)),
        ("", crossovers_table(experiment, at_most=rows)),
        ("", compared),
        *(("", table) for table in derived_tables(experiment, at_most=rows)),
        *((f"{table.caption}: the numbers", table) for table in section_tables(experiment)),
        (
            "Statistics of the replications",
            replication_table(experiment, at_most=extent.statistic_rows),
        ),
        ("", limits_table(experiment)),
        ("", fitted_table(experiment)),
        ("", candidates_table(experiment)),
        ("Fitted against observed", residual_table(experiment, at_most=rows)),
        ("", what_if_table(experiment, at_most=rows)),
        ("Simulation beside the law", law_table(experiment, at_most=rows)),
        ("Simulation beside theory", theory_table(experiment, at_most=rows)),
        ("Stations and pools", resources_table(experiment, at_most=extent.resource_rows)),
        ("Over all replications, by time", course_table(experiment)),
        ("Over time", series_table(experiment)),
        *((table.caption, table) for table in class_tables(experiment, at_most=extent.class_rows)),
    ]
    yield from ((fold, table) for fold, table in found if table is not None)
