"""The table of robots that walk: Gymnasium's MuJoCo environments, made sparse."""

from dataclasses import dataclass

from sfp.envs.parameters import Parameter


@dataclass(frozen=True)
class Robot:
    """A robot of Gymnasium's MuJoCo suite.

    Attributes:
        name: as Gymnasium spells it.
        module: of Gymnasium, that has its class.
        x_max: metres of the paper's sparsest task.
        falls: whether an episode ends when it falls.
        actions: the joints that its actions move, in order.
    """

    name: str
    module: str
    x_max: float
    actions: tuple[str, ...]
    falls: bool = False

    @property
    def summary(self) -> str:
        return f"{self.name} gets {self.x_max:g} m away from its start"

    @property
    def parameters(self) -> dict[str, Parameter]:
        known = {
            "threshold": Parameter(
                float, self.x_max, "metres", least=0.0, whole=self.x_max
            ),
            "signed": Parameter(bool, False, "count x with its sign"),  # noqa: FBT003
            "positions": Parameter(bool, False, "observe the position"),  # noqa: FBT003
        }
        if self.falls:
            about = "a fall ends the episode"
            known["falls"] = Parameter(bool, True, about)  # noqa: FBT003
        return known


LEGS = ("thigh", "leg", "foot")
ROBOTS = {
    "halfcheetah": Robot(
        "HalfCheetah",
        "half_cheetah_v5",
        12.0,
        ("bthigh", "bshin", "bfoot", "fthigh", "fshin", "ffoot"),
    ),
    "ant": Robot(
        "Ant",
        "ant_v5",
        2.0,
        tuple(f"{joint}_{leg}" for leg in (4, 1, 2, 3) for joint in ("hip", "ankle")),
        falls=True,
    ),
    "hopper": Robot(
        "Hopper", "hopper_v5", 2.0, tuple(f"{j}_joint" for j in LEGS), falls=True
    ),
    "swimmer": Robot("Swimmer", "swimmer_v5", 2.0, ("motor1_rot", "motor2_rot")),
    "walker2d": Robot(
        "Walker2d",
        "walker2d_v5",
        1.0,
        tuple(f"{joint}{side}_joint" for side in ("", "_left") for joint in LEGS),
        falls=True,
    ),
}
