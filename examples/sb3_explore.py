"""SAC and TD3 of Stable-Baselines3 or SBX, alone and with a prior that explores.

pip install 'state-free-priors[sb3]'                # and sbx-rl for --library sbx
python examples/recordings.py recordings
sfp fit recordings --past-actions 2 --epochs 3 --epoch-steps 500 --out priors/hand
python examples/sb3_explore.py --prior priors/hand
python examples/sb3_explore.py --prior room --task sfp/Maze-v0 --steps 30000
"""

import argparse
import time
from importlib import import_module

import gymnasium as gym
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor

import sfp


class Goals(BaseCallback):
    """Counts episodes that meet the goal: only there is a reward above 0."""

    def __init__(self):
        super().__init__()
        self.episodes, self.first, self.met = 0, None, False

    def _on_step(self):
        if self.locals["rewards"][0] > 0 and not self.met:
            self.met, self.first = True, self.first or self.num_timesteps
            self.episodes += 1
        self.met &= not self.locals["dones"][0]
        return True


def run(args, learner, explore, seed):
    env = gym.wrappers.FlattenObservation(gym.make(args.task))
    kind = getattr(import_module(args.library), learner)
    noise, goals = None, Goals()
    callbacks = [goals]
    if explore == "noise":
        noise = sfp.PriorNoise(args.prior, env.action_space, seed=seed)
    if explore == "mixed":
        callbacks += [sfp.MixedExploration(args.prior, commit=20.0, seed=seed)]
    model = kind(
        "MlpPolicy",
        env,
        action_noise=noise,
        learning_starts=args.warmup,
        train_freq=50,
        gradient_steps=50,
        policy_kwargs={"net_arch": [64, 64]},
        seed=seed,
    )
    model.learn(args.steps, callback=callbacks)
    tests = Monitor(gym.wrappers.FlattenObservation(gym.make(args.task)))
    tests.reset(seed=1000)
    returns, _ = evaluate_policy(
        model, tests, n_eval_episodes=args.tests, return_episode_rewards=True
    )
    return goals, returns


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prior", required=True, help="its folder or name")
    parser.add_argument("--task", default="MountainCarContinuous-v0")
    parser.add_argument("--library", default="stable_baselines3", help="or sbx")
    parser.add_argument("--learners", nargs="+", default=["SAC", "TD3"])
    parser.add_argument("--explore", nargs="+", default=["alone", "noise", "mixed"])
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--warmup", type=int, default=1000)
    parser.add_argument("--tests", type=int, default=10, help="test episodes")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    args = parser.parse_args()
    for learner in args.learners:
        for explore in args.explore:
            for seed in args.seeds:
                begin = time.time()
                goals, returns = run(args, learner, explore, seed)
                mean = sum(returns) / len(returns)
                least = gym.spec(args.task).reward_threshold
                solved = min(returns) > 0 if least is None else mean >= least
                print(
                    f"{args.library} {learner} {explore}, seed {seed}: the goal in "
                    f"{goals.episodes} training episodes, first at {goals.first}; "
                    f"test return {mean:.1f}, {'' if solved else 'not '}solved "
                    f"({time.time() - begin:.0f} s)",
                    flush=True,
                )


if __name__ == "__main__":
    main()
