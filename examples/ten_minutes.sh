# From nothing to a policy that was trained with your own recordings: ten lines.
# `python benchmarks/ten_minutes.py` runs and times them, with a wheel of this checkout.
python3 -m venv .venv && . .venv/bin/activate
pip install state-free-priors
python recordings.py recordings  # examples/recordings.py: your own recordings come here
sfp data recordings --env MountainCarContinuous-v0
sfp fit recordings --env MountainCarContinuous-v0 --past-actions 2 --epochs 3 --epoch-steps 500 --out prior
sfp explore MountainCarContinuous-v0 --prior prior --explorer uniform --explorer pink --trajectories 10 --repetitions 1
sfp train MountainCarContinuous-v0 --prior prior --steps 10000 --eval-every 2000 --out run
sfp evaluate run
sfp report run --out report.html
sfp export run --out exported
