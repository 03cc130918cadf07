"""Replay against a slow reference that shares no code with it.

Every field of an episode encodes its episode and its time, so that the sampled batch
itself tells which transition was drawn and any misaligned gather shows.
"""

import jax
import numpy as np
import pytest
from scipy import stats

from sfp.data.replay import EpisodeReplay, Sizes, TimeStep
from sfp.errors import SfpError
from sfp.observation import Obs

DIMS = 3


def achieved(e, t):
    return [1000.0 * e + t]


def desired(e):
    return [-1.0 - e]


def action(e, t):
    return [float(e), float(t), -1.0]


def seed_action(e, back):
    """What an episode begins with: actions of no episode's own."""
    return [float(e), -float(back), -2.0]


def plain_reward(e, t):
    return float(7 * e - t)


def goal_reward(reached, wanted):
    """Of one achieved and one desired goal, small integers."""
    return float((reached % 7) - (wanted % 5) + 10 * (reached == wanted))


def goal_rewards(reached, wanted):
    """The same, of many at once."""
    assert reached.shape == wanted.shape == (len(reached), 1)
    return (reached % 7 - wanted % 5 + 10 * (reached == wanted))[:, 0]


def joined(part):
    """An array; of an observation, the state with the goal behind it."""
    if isinstance(part, Obs):
        assert part.image.size == 0
        part = np.concatenate([part.state, part.goal], axis=-1)
    return np.asarray(part)


class Tale:
    """Episodes as lists: (steps, how they end), the last one may be running.

    `expected` is the definition of a batch, written with loops.
    """

    def __init__(self, plan, *, n=1, gamma=0.5, k=0, bank=0, goals=False):
        self.plan, self.n, self.gamma = plan, n, gamma
        self.k, self.bank, self.goals = k, bank, goals

    def history(self, e, t):
        actions = [seed_action(e, back) for back in range(self.k, 0, -1)]
        actions += [action(e, s) for s in range(t)]
        flat = []
        for past in actions[len(actions) - self.k :]:
            flat += past
        return flat

    def moment(self, e, t):
        floats = lambda x: np.array(x, np.float32)  # noqa: E731
        return TimeStep(
            obs=floats([e, t]),
            achieved=floats(achieved(e, t) if self.goals else []),
            goal=floats(desired(e) if self.goals else []),
            history=floats(self.history(e, t)),
        )

    def propose(self, replay, e, t):
        """Fill the bank of the newest moment."""
        bank = np.array([[e, t, b] for b in range(self.bank)], np.float32)
        if self.bank:
            seen = replay.histories(replay.count - 1)
            np.testing.assert_array_equal(seen[0], np.float32(self.history(e, t)))
            replay.fill(replay.count - 1, bank[None])

    def step_reward(self, e, t):
        if self.goals:
            return goal_reward(achieved(e, t + 1)[0], desired(e)[0])
        return plain_reward(e, t)

    def moments(self):
        return [
            (e, t) for e, (steps, _) in enumerate(self.plan) for t in range(steps + 1)
        ]

    def transitions(self, capacity):
        kept = self.moments()[-capacity:]
        return [(e, t) for e, t in kept if t < self.plan[e][0]]

    def expected(self, e, t, goal):
        steps, end = self.plan[e]
        total, m = 0.0, 0
        while m < self.n and t + m < steps:
            if self.goals:
                reward = goal_reward(achieved(e, t + m + 1)[0], goal[0])
            else:
                reward = plain_reward(e, t + m)
            total += self.gamma**m * reward
            m += 1
        over = end == "terminated" and t + m == steps
        return m, {
            "obs": [e, t, *goal],
            "action": action(e, t),
            "reward": total,
            "discount": 0.0 if over else self.gamma**m,
            "next_obs": [e, t + m, *goal],
            "history": self.history(e, t),
            "next_history": self.history(e, t + m),
        }

    def replay(self, capacity, *, hindsight=0.0):
        sizes = Sizes(
            obs=2,
            action=DIMS,
            goal=1 if self.goals else 0,
            history=self.k * DIMS,
            bank=self.bank,
        )
        return EpisodeReplay(
            capacity,
            sizes,
            n_step=self.n,
            gamma=self.gamma,
            hindsight=hindsight,
            reward=goal_rewards if self.goals else None,
        )

    def play(self, replay, after_each=lambda: None, first=0):
        for e, (steps, end) in enumerate(self.plan):
            if e < first:
                continue
            replay.begin(self.moment(e, 0))
            self.propose(replay, e, 0)
            after_each()
            for t in range(steps):
                replay.add(
                    np.array(action(e, t), np.float32),
                    self.step_reward(e, t),
                    self.moment(e, t + 1),
                    terminated=end == "terminated" and t + 1 == steps,
                )
                self.propose(replay, e, t + 1)
                after_each()
        return replay

    def check(self, batch, capacity, *, relabelled=False):
        """Every row of a batch is what the definition says; returns what was drawn."""
        allowed, drawn, wanted = set(self.transitions(capacity)), [], []
        rows = {name: joined(x) for name, x in batch._asdict().items()}
        for e, t, *goal in rows["obs"].tolist():
            e, t = int(e), int(t)
            assert (e, t) in allowed
            if self.goals:
                later = [achieved(e, s) for s in range(t + 1, self.plan[e][0] + 1)]
                assert goal == desired(e) or (relabelled and goal in later)
            m, expected = self.expected(e, t, goal)
            wanted.append(expected)
            drawn.append((e, t, t + m, tuple(goal)))
        for name in wanted[0]:
            expected = np.array([row[name] for row in wanted], np.float32)
            np.testing.assert_array_equal(rows[name], expected, name)
            assert rows[name].dtype == np.float32
        for name, column in (("proposal", 1), ("next_proposal", 2)):
            assert rows[name].shape == (len(drawn), DIMS if self.bank else 0)
            for (e, *when), proposal in zip(drawn, rows[name].tolist(), strict=True):
                if self.bank:
                    assert proposal[:2] == [e, when[column - 1]]
                    assert proposal[2] in range(self.bank)
        return drawn


def plan_of(seed, episodes=9, longest=9):
    rng = np.random.default_rng(seed)
    ends = ["terminated", "truncated"]
    return [
        (int(rng.integers(1, longest + 1)), ends[rng.integers(2)])
        for _ in range(episodes - 1)
    ] + [(int(rng.integers(1, longest + 1)), "running")]


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 3, 5, 12, 40])
@pytest.mark.parametrize("goals", [False, True])
def test_every_transition_is_what_the_definition_says(n, goals):
    """n from 1 to longer than any episode; every transition is met."""
    tale = Tale(plan_of(n), n=n, k=2, bank=3, goals=goals)
    replay = tale.play(tale.replay(1000))
    drawn = tale.check(replay.sample(np.random.default_rng(0), (1500,)), 1000)
    assert {d[:2] for d in drawn} == set(tale.transitions(1000))
    assert len(replay) == len(tale.transitions(1000))


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 3, 12])
def test_with_hindsight_rewards_and_both_observations_have_the_same_goal(n):
    tale = Tale(plan_of(20 + n), n=n, k=1, bank=2, goals=True)
    replay = tale.play(tale.replay(1000, hindsight=4.0))
    batch = replay.sample(np.random.default_rng(0), (1500,))
    drawn = tale.check(batch, 1000, relabelled=True)
    own = [goal == tuple(desired(e)) for e, _, _, goal in drawn]
    assert 0 < sum(own) < len(own)


@pytest.mark.slow
@pytest.mark.parametrize("capacity", [*range(3, 20), 23, 31, 46])
def test_a_ring_of_any_capacity_serves_what_it_still_holds(capacity):
    """Episodes partly overwritten or longer than the ring, after every step."""
    plan = plan_of(capacity, episodes=12, longest=7)
    plan[5] = (capacity + 4, "terminated")
    plan.append((2 * capacity, "running"))
    n = 1 + capacity % 5
    replay = Tale(plan, n=n, k=2, bank=2, goals=True).replay(capacity, hindsight=1.0)
    whole = Tale(plan, n=n, k=2, bank=2, goals=True)
    moments, rng = whole.moments(), np.random.default_rng(0)

    def check():
        e, t = moments[replay.count - 1]
        end = plan[e][1] if t == plan[e][0] else "running"
        so_far = Tale([*plan[:e], (t, end)], n=n, k=2, bank=2, goals=True)
        allowed = so_far.transitions(capacity)
        assert len(replay) == len(allowed)
        if allowed:
            so_far.check(replay.sample(rng, (8,)), capacity, relabelled=True)

    whole.play(replay, check)
    many = replay.sample(rng, (30 * capacity,))
    drawn = whole.check(many, capacity, relabelled=True)
    assert {d[:2] for d in drawn} == set(whole.transitions(capacity))


def test_episodes_of_one_step_in_the_smallest_ring():
    tale = Tale([(1, "terminated")] * 8, n=4)
    replay = tale.play(tale.replay(3))
    for e in range(8):
        so_far = Tale([(1, "terminated")] * (e + 1), n=4)
        replay = so_far.play(so_far.replay(3))
        drawn = so_far.check(replay.sample(np.random.default_rng(e), (20,)), 3)
        assert {d[0] for d in drawn} == {e}


@pytest.mark.parametrize(
    ("end", "n", "discounts"),
    [
        ("terminated", 3, [0.5**3, 0.0, 0.0, 0.0]),
        ("terminated", 1, [0.5, 0.5, 0.5, 0.0]),
        ("terminated", 4, [0.0, 0.0, 0.0, 0.0]),
        ("truncated", 3, [0.5**3, 0.5**3, 0.5**2, 0.5]),
        ("running", 9, [0.5**4, 0.5**3, 0.5**2, 0.5]),
    ],
)
def test_discount_is_zero_only_where_the_window_meets_a_termination(end, n, discounts):
    """By hand, four steps; at t + n = T too."""
    tale = Tale([(4, end)], n=n)
    batch = tale.play(tale.replay(50)).sample(np.random.default_rng(0), (200,))
    at = np.asarray(batch.obs.state)[:, 1].astype(int)
    assert set(at) == {0, 1, 2, 3}
    np.testing.assert_array_equal(batch.discount, np.float32(discounts)[at])


def test_returns_by_hand_with_the_usual_gamma():
    """Rewards 0, -1, -2, -3 with n = 3: the sums of a textbook."""
    tale = Tale([(4, "truncated")], n=3, gamma=0.99)
    batch = tale.play(tale.replay(50)).sample(np.random.default_rng(0), (100,))
    at = np.asarray(batch.obs.state)[:, 1].astype(int)
    sums = [-0.99 - 2 * 0.9801, -1 - 2 * 0.99 - 3 * 0.9801, -2 - 3 * 0.99, -3.0]
    np.testing.assert_allclose(batch.reward, np.array(sums)[at], rtol=1e-6)
    rest = [0.970299, 0.970299, 0.9801, 0.99]
    np.testing.assert_allclose(batch.discount, np.array(rest)[at], rtol=1e-6)


def test_fractions_of_rewards_are_not_lost():
    """Neither to integers nor to float32 before the sum."""
    replay = EpisodeReplay(50, Sizes(obs=1, action=1), n_step=3, gamma=0.0)
    moment = TimeStep(*(np.zeros(size, np.float32) for size in (1, 0, 0, 0)))
    replay.begin(moment)
    replay.add(np.zeros(1), 0.99, moment, terminated=False)
    batch = replay.sample(np.random.default_rng(0), (3,))
    np.testing.assert_array_equal(batch.reward, np.full(3, 0.99, np.float32))
    np.testing.assert_array_equal(batch.discount, np.zeros(3, np.float32))


def test_a_running_episode_that_goes_on_is_no_longer_truncated_there():
    short, long = (Tale([(t, "running")], n=3) for t in (2, 5))
    replay = short.play(short.replay(50))
    rng = np.random.default_rng(0)
    short.check(replay.sample(rng, (50,)), 50)
    for t in range(2, 5):
        replay.add(
            np.array(action(0, t), np.float32),
            plain_reward(0, t),
            long.moment(0, t + 1),
            terminated=False,
        )
    drawn = long.check(replay.sample(rng, (200,)), 50)
    assert {d[1] for d in drawn} == {0, 1, 2, 3, 4}


def test_a_batch_has_any_leading_shape_and_the_same_rows():
    tale = Tale(plan_of(1), n=3, k=1, bank=2, goals=True)
    replay = tale.play(tale.replay(40, hindsight=4.0))
    flat = replay.sample(np.random.default_rng(5), (24,))
    shaped = replay.sample(np.random.default_rng(5), (2, 3, 4))
    leaves = jax.tree.leaves(flat), jax.tree.leaves(shaped)
    for one, other in zip(*leaves, strict=True):
        assert other.shape == (2, 3, 4, *one.shape[1:])
        np.testing.assert_array_equal(one, np.asarray(other).reshape(one.shape))


def test_the_same_generator_gives_the_same_batch_and_another_does_not():
    tale = Tale(plan_of(2), n=2, goals=True)
    replay = tale.play(tale.replay(40, hindsight=4.0))
    one, two, three = (
        replay.sample(np.random.default_rng(seed), (64,)) for seed in (0, 0, 1)
    )
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(one.obs.state, three.obs.state)


def test_sampling_changes_nothing():
    tale = Tale(plan_of(2), n=2, goals=True, bank=1)
    replay = tale.play(tale.replay(20, hindsight=4.0))
    before = {name: column.copy() for name, column in replay.columns.items()}
    replay.sample(np.random.default_rng(0), (64,))
    for name, column in replay.columns.items():
        np.testing.assert_array_equal(column, before[name])


@pytest.mark.parametrize("capacity", [1000, 33])
def test_transitions_are_uniform(capacity):
    """Also where some moments have no action: those are drawn again, not replaced."""
    tale = Tale(plan_of(3, episodes=14, longest=5))
    replay = tale.play(tale.replay(capacity))
    allowed = tale.transitions(capacity)
    batch = replay.sample(np.random.default_rng(0), (500 * len(allowed),))
    ids = [(int(e), int(t)) for e, t in np.asarray(batch.obs.state)]
    counts = [ids.count(pair) for pair in allowed]
    assert sum(counts) == len(ids)
    assert stats.chisquare(counts).pvalue > 0.001


def test_the_bank_is_drawn_from_evenly_and_apart_for_now_and_next():
    tale = Tale([(6, "truncated")], bank=4)
    replay = tale.play(tale.replay(50))
    batch = replay.sample(np.random.default_rng(0), (16_000,))
    pairs = np.asarray(batch.proposal)[:, 2] * 4 + np.asarray(batch.next_proposal)[:, 2]
    counts = np.bincount(pairs.astype(int), minlength=16)
    assert stats.chisquare(counts).pvalue > 0.001


@pytest.mark.parametrize("ratio", [0.0, 1.0, 4.0])
def test_hindsight_relabels_its_share(ratio):
    tale = Tale(plan_of(4), goals=True)
    replay = tale.play(tale.replay(1000, hindsight=ratio))
    batch = replay.sample(np.random.default_rng(0), (40_000,))
    later = joined(batch.obs)[:, 2] >= 0
    np.testing.assert_array_equal(batch.relabelled, later)
    share = later.mean()
    expected = ratio / (1 + ratio)
    deviation = np.sqrt(expected * (1 - expected) / 40_000)
    assert abs(share - expected) <= 4 * deviation


def test_future_goals_are_uniform_over_the_rest_of_the_episode():
    """Over t + 1 to T, both ends included, independent of n."""
    tale = Tale([(4, "truncated"), (8, "terminated"), (6, "running")], n=2, goals=True)
    replay = tale.play(tale.replay(1000, hindsight=4.0))
    obs = joined(replay.sample(np.random.default_rng(0), (60_000,)).obs)
    obs = obs[obs[:, 2] >= 0].astype(int)
    for e, t, last in ((0, 0, 4), (1, 2, 8), (1, 7, 8), (2, 1, 6), (2, 5, 6)):
        goals = obs[(obs[:, 0] == e) & (obs[:, 1] == t), 2] - 1000 * e
        found, counts = np.unique(goals, return_counts=True)
        assert found.tolist() == list(range(t + 1, last + 1))
        if len(counts) > 1:
            assert stats.chisquare(counts).pvalue > 0.001


@pytest.mark.parametrize("met", [0.0, 1.0, 5.0])
def test_goals_that_are_met_already_can_be_left_out(met):
    """An object is moved once, at t = 4; met or not pays `met` or one less."""

    def rewards(reached, wanted):
        return (met - (reached != wanted))[:, 0]

    def step(t):
        where, none = np.float32([t >= 4]), np.zeros(0, np.float32)
        return TimeStep(np.float32([t]), where, np.float32([9]), none)

    sizes = Sizes(obs=1, action=1, goal=1)
    replay = EpisodeReplay(
        100, sizes, n_step=1, gamma=0.9, hindsight=4.0, unmet=True, reward=rewards
    )
    replay.begin(step(0))
    for t in range(8):
        replay.add(np.zeros(1, np.float32), met - 1, step(t + 1), terminated=False)
    batch = replay.sample(np.random.default_rng(0), (40_000,))
    t, goal = joined(batch.obs).T
    later = np.asarray(batch.relabelled, bool)
    np.testing.assert_array_equal(goal, np.where(later, 1.0, 9.0))
    assert not later[t >= 4].any()
    for now in range(4):
        possible = 5 / (8 - now)  # the steps 4 to 8, of all that come
        share = later[t == now].mean()
        assert share == pytest.approx(0.8 * possible, abs=0.04)
    pays = np.where(later, met - (t + 1 < 4), met - 1)
    np.testing.assert_allclose(batch.reward, pays)


class Pieces:
    """What a checkpoint does: pieces that overlap by one moment."""

    def __init__(self, replay):
        self.replay, self.kept, self.stop = replay, [], 0

    def save(self):
        first = max(self.stop - 1, 0, self.replay.count - self.replay.capacity)
        piece = self.replay.piece(first)
        like = self.replay.like(first, self.replay.count)
        assert like.keys() == piece.keys()
        for name, array in piece.items():
            assert (array.shape, array.dtype) == (like[name].shape, like[name].dtype)
        self.kept.append((first, {k: v.copy() for k, v in piece.items()}))
        self.stop = self.replay.count

    def fill(self, replay):
        replay.clear()
        for first, piece in self.kept:
            if first + len(piece["episode"]) > self.stop - replay.capacity:
                replay.put(first, piece)
        replay.restore(self.replay.count, self.replay.episodes)


@pytest.mark.parametrize("capacity", [3, 5, 8, 13, 21, 40, 500])
@pytest.mark.parametrize("every", [1, 4, 11, 10_000])
def test_pieces_put_back_give_the_same_batches_then_and_later(capacity, every):
    """Into a replay that held something else; and both go on alike."""
    tale = Tale(plan_of(capacity, episodes=14), n=3, k=1, bank=2, goals=True)
    later = Tale([*tale.plan, (9, "terminated"), (3, "running")], n=3, k=1, bank=2)
    later.goals = True
    replay = tale.replay(capacity, hindsight=2.0)
    pieces = Pieces(replay)
    tale.play(replay, lambda: pieces.save() if replay.count % every == 0 else None)
    pieces.save()
    other = Tale([(4, "terminated")] * 7, n=3, k=1, bank=2, goals=True)
    restored = other.play(tale.replay(capacity, hindsight=2.0))
    pieces.fill(restored)
    assert len(restored) == len(replay)
    for _ in range(2):
        one, two = (
            r.sample(np.random.default_rng(1), (300,)) for r in (replay, restored)
        )
        for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True):
            np.testing.assert_array_equal(a, b)
        for r in (replay, restored):
            later.play(r, first=len(tale.plan))
    later.check(one, capacity, relabelled=True)


@pytest.mark.parametrize("end", ["terminated", "truncated"])
def test_a_piece_taken_while_an_episode_runs_is_completed_by_the_next(end):
    """Its frontier was a truncation then, wherever the episode ended later."""
    tale = Tale([(3, "terminated"), (6, end)], n=2)
    replay = tale.replay(100)
    pieces = Pieces(replay)
    tale.play(replay, lambda: pieces.save() if replay.count == 7 else None)
    pieces.save()
    restored = tale.replay(100)
    pieces.fill(restored)
    drawn = tale.check(restored.sample(np.random.default_rng(0), (200,)), 100)
    assert (1, 5) in {d[:2] for d in drawn}


@pytest.mark.parametrize("capacity", [3, 7, 100])
@pytest.mark.parametrize("count", [1, 2, 5, 50])
def test_newest_are_the_last_transitions_in_order(capacity, count):
    """As many as asked for, or as many as there are; ends of episodes do not count."""
    plan = [(4, "truncated"), (1, "terminated"), (1, "truncated"), (3, "running")]
    tales = [plan[:last] for last in range(1, len(plan) + 1)]
    tales += [[*plan[:last], (0, "running")] for last in range(1, len(plan))]
    for told in tales:
        tale = Tale(told, goals=True)
        replay = tale.play(tale.replay(capacity))
        reached, wanted, rewards = replay.newest(count)
        expected = tale.transitions(capacity)[-count:]
        np.testing.assert_array_equal(
            reached, [achieved(e, t + 1) for e, t in expected]
        )
        np.testing.assert_array_equal(wanted, [desired(e) for e, _ in expected])
        np.testing.assert_array_equal(
            rewards, [tale.step_reward(e, t) for e, t in expected]
        )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"capacity": 2}, "capacity of at least 3, received 2"),
        ({"n_step": 0}, "n_step of at least 1, received 0"),
        ({"hindsight": -1.0}, "hindsight of 0 or more, received -1.0"),
        ({"hindsight": 4.0, "reward": None}, "hindsight needs goals and a reward"),
        (
            {"hindsight": 4.0, "sizes": Sizes(obs=2, action=1)},
            "hindsight needs goals and a reward",
        ),
    ],
)
def test_bad_arguments_are_refused_in_one_line(changes, message):
    given = {
        "capacity": 10,
        "sizes": Sizes(obs=2, action=1, goal=1),
        "reward": goal_rewards,
    }
    with pytest.raises(SfpError, match=message) as caught:
        EpisodeReplay(**(given | changes))
    assert "\n" not in str(caught.value)


def test_an_empty_replay_says_so_instead_of_waiting_for_ever():
    tale = Tale([(0, "running")])
    replay = tale.replay(10)
    with pytest.raises(SfpError, match="nothing to sample"):
        replay.sample(np.random.default_rng(0), (4,))
    tale.play(replay)
    with pytest.raises(SfpError, match="nothing to sample"):
        replay.sample(np.random.default_rng(0), (4,))
    assert len(replay) == 0


# --- stacks of frames -----------------------------------------------------------------


@pytest.mark.parametrize("capacity", [100, 17])
def test_stacked_frames_are_stored_once_and_gathered_within_their_episode(capacity):
    sizes = Sizes(obs=2, action=1, image=(1, 1, 3), frames=3)
    replay = EpisodeReplay(capacity, sizes, n_step=2, gamma=0.5)
    assert replay.columns["image"].shape == (capacity, 1, 1, 1)
    none = np.zeros(0, np.float32)

    def stack(e, t):
        return np.uint8([20 * e + max(t - back, 0) for back in (2, 1, 0)])

    def at(e, t):
        state = np.float32([e, t])
        return TimeStep(state, none, none, none, stack(e, t)[None, None])

    for e, steps in enumerate([4, 1, 6, 9]):
        replay.begin(at(e, 0))
        for t in range(1, steps + 1):
            replay.add(np.zeros(1), 1.0, at(e, t), terminated=False)
    batch = replay.sample(np.random.default_rng(0), (500,))
    drawn = set()
    for seen in (batch.obs, batch.next_obs):
        states, images = np.asarray(seen.state), np.asarray(seen.image)
        for (e, t), image in zip(states, images, strict=True):
            np.testing.assert_array_equal(image[0, 0], stack(int(e), int(t)))
            drawn.add((int(e), int(t)))
    # What the ring has overwritten is missed by the two oldest time steps alone.
    assert len(drawn) == (24 if capacity == 100 else 15)


@pytest.mark.parametrize("terminated", [False, True])
def test_a_choice_that_lasts_is_one_transition(terminated):
    """State at the choice, the sum of rewards, the state after its last step."""
    none = np.zeros(0, np.float32)
    replay = EpisodeReplay(8, Sizes(obs=1, action=2), n_step=1, gamma=0.9)

    def seen(t):
        return TimeStep(np.float32([t]), none, none, none)

    replay.begin(seen(0.0))
    chosen = np.float32([[0.1, 0.2], [0.3, 0.4]])
    for number, first in enumerate((0, 3)):  # two choices of three steps each
        replay.add(chosen[number], 1.0, seen(first + 1), terminated=False)
        for t in (first + 2, first + 3):
            last = terminated and t == 6
            replay.amend(10.0 * t, seen(t), terminated=last)
    assert (replay.count, len(replay)) == (3, 2)
    batch = replay.sample(np.random.default_rng(0), (40,))
    for number in range(2):
        rows = batch.obs.state[:, 0] == 3 * number
        assert rows.any()
        np.testing.assert_array_equal(batch.action[rows][0], chosen[number])
        np.testing.assert_array_equal(batch.next_obs.state[rows], 3.0 * number + 3)
        total = 1.0 + 10.0 * (2 + 3 + 6 * number)
        np.testing.assert_allclose(batch.reward[rows], total)
        ends = terminated and number == 1
        np.testing.assert_allclose(batch.discount[rows], 0.0 if ends else 0.9)
