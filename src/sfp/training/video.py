"""Videos of episodes: GIF and WebP with Pillow, MP4 with ffmpeg."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from PIL import Image as Picture

from sfp.errors import SfpError
from sfp.files import atomic_file
from sfp.types import Image

Film = Callable[[Image], None]
"""Takes the next frame."""

RATE = 30


def check_video(path: Path) -> None:
    """Refuse a file that is none of the videos that can be written."""
    if path.suffix not in (".mp4", ".gif", ".webp"):
        raise SfpError(f"expected a .mp4, .gif or .webp, received {path}.")


@contextlib.contextmanager
def filming(path: Path) -> Iterator[Film]:
    """Yield what takes frames; the video is there, whole, when the block succeeds."""
    check_video(path)
    make = _mp4 if path.suffix == ".mp4" else _moving_picture
    with atomic_file(path) as draft, make(draft) as film:
        yield film


@contextlib.contextmanager
def _moving_picture(path: Path) -> Iterator[Film]:
    frames: list[Picture.Image] = []

    def film(frame: Image) -> None:
        picture = Picture.fromarray(frame)
        frames.append(picture if path.suffix == ".webp" else picture.quantize(64))

    yield film
    if not frames:
        raise SfpError("there are no frames to write.")
    first, *others = frames
    duration = round(1000 / RATE)
    moving = {"save_all": True, "append_images": others, "loop": 0}
    first.save(path, **moving, duration=duration, quality=60)  # which a GIF ignores


@contextlib.contextmanager
def _mp4(path: Path) -> Iterator[Film]:
    """Frames go through a pipe, so that a long film needs no memory."""
    program, encoder = _ffmpeg(), None
    even = ["-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2", "-pix_fmt", "yuv420p"]

    def start(frame: Image) -> subprocess.Popen[bytes]:
        height, width = frame.shape[:2]
        given = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}"]
        command = [program, "-y", "-loglevel", "error", *given, "-r", str(RATE)]
        command += ["-i", "-", *even, "-movflags", "+faststart", str(path)]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdin=pipe, stderr=pipe)

    def film(frame: Image) -> None:
        nonlocal encoder
        encoder = encoder or start(frame)
        assert encoder.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # its own words follow below
            encoder.stdin.write(frame.tobytes())

    try:
        yield film
    finally:
        said = encoder.communicate()[1] if encoder else b"no frames"
    if encoder is None or encoder.returncode:
        raise SfpError(f"ffmpeg failed: {said.decode(errors='replace')}")


def _ffmpeg() -> str:
    found = shutil.which("ffmpeg")
    if found:
        return found
    try:
        from imageio_ffmpeg import get_ffmpeg_exe
    except ImportError:
        raise SfpError(
            "an .mp4 needs ffmpeg: pip install imageio-ffmpeg, or write a .gif."
        ) from None
    return get_ffmpeg_exe()
