"""The modules whose arrays are checked while tests run: where arrays are annotated.

The grid, the reports and the command line have none, and checked calls are slow.
"""

STAGES = ("nets", "noise", "envs", "data", "priors")
STAGES += ("exploration", "agents", "training")
FILMS = ("sfp.report.html.film", "sfp.report.abreast", "sfp.report.trust")
CHECKED = [*(f"sfp.{stage}" for stage in STAGES), *FILMS]
