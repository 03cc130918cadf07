"""TD3 in one file, as CleanRL writes it; the lines marked (sfp) let a prior explore.

pip install state-free-priors torch
python examples/recordings.py recordings
sfp fit recordings --past-actions 2 --epochs 3 --epoch-steps 500 --out priors/hand
python examples/cleanrl_td3.py --prior priors/hand
python examples/cleanrl_td3.py --prior room --task sfp/Maze-v0 --steps 30000
"""

import argparse
import copy

import gymnasium as gym
import numpy as np
import torch
from torch import nn

import sfp


def net(inputs, outputs, *last):
    hidden = nn.Linear(inputs, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU()
    return nn.Sequential(*hidden, nn.Linear(64, outputs), *last)


def train(env, args):
    """TD3 for actions in [-1, 1]; thirty lines with the prior's."""
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    m, n = env.observation_space.shape[0], env.action_space.shape[0]
    policy, critics = net(m, n, nn.Tanh()), nn.ModuleList([net(m + n, 1) for _ in "12"])
    nets = nn.ModuleList([policy, critics])
    slow, adams = copy.deepcopy(nets), [torch.optim.Adam(q.parameters()) for q in nets]
    replay = np.zeros((args.steps, 2 * m + n + 2), np.float32)
    actor = sfp.PriorActor(args.prior, env.action_space, seed=args.seed)  # (sfp)
    by_prior, goals, met = True, 0, False
    obs, _ = env.reset(seed=args.seed)
    for step in range(args.steps):
        action = policy(torch.as_tensor(obs)).detach().numpy()
        action = np.clip(action + rng.normal(0, 0.1, n), -1, 1).astype(np.float32)
        if step % 20 == 0:  # (sfp) who acts for the next steps; the policy from half on
            share = 0.95 * (1 - 2 * step / args.steps)
            by_prior = step < args.warmup or rng.random() < share
        if by_prior and not args.without:  # (sfp)
            action = actor.propose()[0]  # (sfp)
        actor.remember(action)  # (sfp) what is really executed, also the policy's
        after, reward, ended, cut, _ = env.step(action)
        replay[step] = [*obs, *action, reward, *after, ended]
        obs, goals, met = after, goals + (reward > 0 and not met), met or reward > 0
        if ended or cut:
            (obs, _), met = env.reset(), False
            actor.reset()  # (sfp)
        if step >= args.warmup:
            batch = torch.as_tensor(replay[rng.integers(step + 1, size=256)])
            update(nets, slow, adams, batch.split([m, n, 1, m, 1], dim=1), step)
    return policy, replay, goals


def update(nets, slow, adams, batch, step):
    policy, critics = nets
    s, a, r, s_, over = batch
    with torch.no_grad():
        blur = (0.2 * torch.randn_like(a)).clamp(-0.5, 0.5)
        ahead = torch.cat([s_, (slow[0](s_) + blur).clamp(-1, 1)], dim=1)
        y = r + 0.99 * (1 - over) * torch.min(*(q(ahead) for q in slow[1]))
    now = torch.cat([s, a], dim=1)
    descend(adams[1], sum((q(now) - y).square().mean() for q in critics))
    if step % 2 == 0:
        descend(adams[0], -critics[0](torch.cat([s, policy(s)], dim=1)).mean())
        for late, new in zip(slow.parameters(), nets.parameters(), strict=True):
            late.data.lerp_(new.data, 0.005)


def descend(adam, loss):
    adam.zero_grad()
    loss.backward()
    adam.step()


def evaluate(env, policy, episodes=10):
    returns = np.zeros(episodes)
    for episode in range(episodes):
        (obs, _), over = env.reset(seed=1000 + episode), False
        while not over:
            action = policy(torch.as_tensor(obs)).detach().numpy()
            obs, reward, ended, cut, _ = env.step(action)
            returns[episode] += reward
            over = ended or cut
    return returns


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prior", required=True, help="its folder or name")
    parser.add_argument("--task", default="MountainCarContinuous-v0")
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--warmup", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--without", action="store_true", help="the prior never acts")
    args = parser.parse_args()
    env = gym.wrappers.FlattenObservation(gym.make(args.task))
    policy, _, goals = train(env, args)
    returns, least = evaluate(env, policy), gym.spec(args.task).reward_threshold
    solved = returns.min() > 0 if least is None else returns.mean() >= least
    print(
        f"seed {args.seed}: the goal in {goals} training episodes; test return "
        f"{returns.mean():.1f}, {'' if solved else 'not '}solved"
    )


if __name__ == "__main__":
    main()
