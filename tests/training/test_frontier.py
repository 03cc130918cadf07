"""Setting out from where few have been."""

import numpy as np
import pytest

import sfp
from environments import SMALL
from probes import linear_prior
from sfp.agents.base import Decision
from sfp.agents.sac import SAC
from sfp.config import Networks
from sfp.errors import SfpError
from sfp.training import frontier as module
from sfp.training.frontier import Frontier


class Line:
    """Whole numbers from 0 on; an action goes one up or down."""

    def __init__(self, frontier, rng, episode=60):
        self.frontier, self.rng, self.episode = frontier, rng, episode
        self.farthest = self.led = 0

    def walk(self, episodes):
        for _ in range(episodes):
            at = 0
            self.frontier.begin(0, np.array([float(at)]), 1)
            for _ in range(self.episode):
                action = self.frontier.lead(0, self.rng)
                self.led += action is not None
                if action is None:
                    action = self.rng.choice([-1.0, 1.0], size=1)
                at = max(0, at + int(action[0]))
                self.farthest = max(self.farthest, at)
                self.frontier.see(0, action, np.array([float(at)]), ended=False)


@pytest.fixture
def sooner(monkeypatch):
    monkeypatch.setattr(module, "MEASURED", 50)
    monkeypatch.setattr(module, "NEAR", 0.01)  # a place for every number


class Still(Frontier):
    """Sees everything and leads nowhere."""

    def lead(self, rollout, rng):
        return None


@pytest.mark.slow
def test_it_gets_farther_than_chance(sooner):
    """A walk of 60 coins gets some 20 far, one that is led farther."""
    rng = np.random.default_rng
    led, alone = Line(Frontier(10, 1), rng(0)), Line(Still(10, 1), rng(0))
    for line in (led, alone):
        line.walk(30)
    assert alone.led == 0
    assert 0 < led.led < 30 * 60
    assert led.farthest > 1.5 * alone.farthest


def test_it_goes_back_by_the_actions_that_led_there(sooner):
    frontier = Frontier(5, 1)
    line = Line(frontier, np.random.default_rng(1))
    line.walk(20)
    assert frontier._map.visits.sum() == 20 * 61
    frontier.begin(0, np.zeros(1), 1)
    trip, at, steps = frontier.trips[0], 0, 0
    trip.target = int(frontier._map.visit(np.array([float(line.farthest)])))
    trip.left = 100
    frontier.look_again()
    while (action := frontier.lead(0, line.rng)) is not None:
        assert action == 1.0
        at, steps = at + 1, steps + 1
        frontier.see(0, action, np.array([float(at)]), ended=False)
    assert line.farthest - 2 <= at == steps
    assert trip.stays == 4


def test_a_trip_that_fails_is_given_up(sooner):
    """The place is known, but actions lead nowhere any more."""
    frontier = Frontier(5, 1)
    Line(frontier, np.random.default_rng(1)).walk(10)
    frontier.begin(0, np.zeros(1), 1)
    rng, given, trip = np.random.default_rng(3), 0, frontier.trips[0]
    trip.target = len(frontier._map) - 1
    trip.left = 12
    frontier.look_again()
    while (action := frontier.lead(0, rng)) is not None:
        given += 1
        frontier.see(0, action, np.zeros(1), ended=False)
    assert given == 12
    assert trip.target == -1


@pytest.mark.slow
def test_places_that_end_episodes_are_no_targets(sooner):
    frontier, rng = Frontier(5, 1), np.random.default_rng(5)
    Line(frontier, rng).walk(10)
    end = np.array([-9.0])
    frontier.see(0, -np.ones(1), end, ended=True)
    deadly = len(frontier._map) - 1

    def targets():
        drawn = set()
        for _ in range(300):
            frontier.begin(0, np.zeros(1), 1)
            if frontier.lead(0, rng) is not None:
                drawn.add(frontier.trips[0].target)
        return drawn

    assert len(targets()) > 5
    assert deadly not in targets()
    frontier.see(0, -np.ones(1), end, ended=False)
    assert deadly in targets()


def test_two_rollouts_share_a_map(sooner):
    frontier, rng = Frontier(5, 2), np.random.default_rng(5)
    for i in range(2):
        frontier.begin(i, np.zeros(1), 1)
    for t in range(1, 60):
        for i, sign in enumerate((1.0, -1.0)):
            at = np.array([sign * (t % 20)])
            frontier.see(i, np.full(1, sign), at, ended=False)
    seen = frontier.saved()["told"], frontier._map.visits.sum()
    assert seen == (120, 120)
    for i in range(2):
        frontier.begin(i, np.zeros(1), 1)
        frontier.trips[i].target = frontier._map.visit(np.array([17.0]))
        frontier.trips[i].left = 3
    frontier.look_again()
    for i in range(2):  # the second is led by what the first has done
        assert frontier.lead(i, rng) == 1.0


def test_a_trip_may_begin_beside_its_way(sooner):
    """Patience counts from the place where it joins the way."""
    frontier = Frontier(5, 1)
    Line(frontier, np.random.default_rng(1)).walk(20)
    places = frontier._map
    beside = np.array([-1.8])
    frontier.begin(0, beside, 1)
    assert places.way_to(0).knows(frontier.trips[0].here) is False
    drawn = []
    for seed in range(50):
        frontier.begin(0, beside, 1)
        frontier.lead(0, np.random.default_rng(seed))
        trip = frontier.trips[0]
        if trip.target > 0:
            length = int(trip.way.length[0])
            drawn.append(trip.left == module.PATIENCE * (length + 1) - 1)
    assert drawn
    assert all(drawn)


@pytest.mark.parametrize("episodes", [0, 7])
def test_what_is_restored_goes_on_alike(sooner, episodes):
    first = Line(Frontier(5, 1), np.random.default_rng(2))
    first.walk(episodes)
    first.frontier.begin(0, np.zeros(1), 1)
    trip = first.frontier.trips[0]
    while episodes and not (trip.target >= 0 and trip.left < 4):  # under way
        action = first.frontier.lead(0, first.rng)
        action = np.ones(1) if action is None else action
        first.frontier.see(0, action, np.ones(1), ended=False)
    second = Line(Frontier(5, 1), np.random.default_rng(4))
    saved = first.frontier.saved()
    second.frontier.check(saved)
    blank = second.frontier.arrays(saved, 1, 1)
    arrays = first.frontier.arrays(saved, 1, 1)
    assert {k: v.shape for k, v in blank.items()} == {
        k: v.shape for k, v in arrays.items()
    }
    second.frontier.restore(saved, arrays)
    first.rng = np.random.default_rng(4)
    for line in (first, second):
        line.farthest = line.led = 0
        line.frontier.look_again()
        line.walk(5)
    assert (first.led, first.farthest) == (second.led, second.farthest)
    assert first.frontier.saved() == second.frontier.saved()
    np.testing.assert_array_equal(
        first.frontier._map.visits, second.frontier._map.visits
    )


def test_places_are_as_wide_as_a_usual_step():
    points = [(0, [0.0, 5.0]), (1, [2.0, 5.0]), (2, [4.0, 5.0]), (3, [7.0, 5.0])]
    rest = dict(ended=False, action=np.zeros(1))
    told = [module.Told(0 if i else ~0, point=np.array(p), **rest) for i, p in points]
    spread = np.std([0.0, 2.0, 4.0, 7.0])
    places = module._measured(told, alike=False)
    np.testing.assert_allclose(places.scale, [spread, 1.0])
    np.testing.assert_allclose(places.apart, 2.0 / spread)
    places = module._measured(told, alike=True)
    np.testing.assert_allclose(places.scale, [spread / 2**0.5] * 2)
    np.testing.assert_allclose(places.apart, 2.0 / spread * 2**0.5)


@pytest.mark.parametrize(
    "damage",
    [
        {"told": -2},
        {"told": 1.5},
        {"trips": []},
        {"trips": [[0, "1", 2]]},
        {"trips": [[0, 1]]},
        {"told": -1},
    ],
)
def test_a_damaged_checkpoint_is_refused(damage):
    frontier = Frontier(5, 1)
    with pytest.raises((TypeError, ValueError)):
        frontier.check(frontier.saved() | damage)


class Deaf(SAC):
    """Acts as it likes."""

    def act(self, actor, memory, turn):
        action = turn.rng.uniform(-1, 1, self.spec.action).astype(np.float32)
        return Decision(action, action, {}), memory


@pytest.mark.slow
def test_an_agent_that_is_not_led_is_told(sooner):
    given = dict(steps=200, warmup=200, batch=8, frontier=5)
    small = Networks(width=4, depth=1)
    with pytest.raises(SfpError, match="Deaf does not take the action"):
        sfp.train("room", agent=lambda spec: Deaf(spec, 0.2, small), **given)


@pytest.mark.slow
def test_methods_that_act_through_a_flow_are_not_led():
    prior = sfp.load_prior("room")
    with pytest.raises(SfpError, match="parrot-action acts through a flow"):
        sfp.train("room", method="parrot-action", prior=prior, frontier=5, **SMALL)


@pytest.mark.slow
def test_images_alone_tell_no_places_apart():
    prior = linear_prior(0.1, dims=2)
    given = dict(prior=prior, method="sfp-quick", **SMALL)
    with pytest.raises(SfpError, match="images alone"):
        sfp.train("room:pixels=true", frontier=5, **given)
