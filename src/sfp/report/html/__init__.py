"""The report: one HTML file that opens from disk and needs nothing else."""

from sfp.report.html.write import write_report

__all__ = ["write_report"]
