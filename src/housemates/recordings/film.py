"""Films of recorded episodes: the home from above, what both robots see, who does what, and a timeline below.

A film shows a recording and plays nothing. It needs Pillow, and imageio-ffmpeg for mp4 (the `video` extra).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from housemates.homes.home import Home
from housemates.io import check_place, write_whole
from housemates.recordings import palette
from housemates.recordings.captions import bands, doing, holding, short, thing_names, title, told
from housemates.recordings.recording import Recording, batch_of
from housemates.sim.cameras import real_bodies
from housemates.sim.shots import SHARP, Colour, Shot
from housemates.tasks.actions import NO_OP, PICK

if TYPE_CHECKING:
    from PIL import Image, ImageDraw

KINDS = (".mp4", ".gif")
WIDTH, MARGIN, GAP = 960, 12, 8
"""Width of the picture, its border, space between its pieces, pixels."""
ABOVE = (624, 372)
"""Width and height of the view from above, pixels."""
EYE, ROW = 150, 186
"""Side of one head picture, and height of a robot's row with the words below it, pixels."""
LANE = 22
"""Height of one robot's lane in the timeline, pixels."""
CAPTION_STEPS = 14
"""How long an event stays written, simulation steps."""
TRAIL = 30
"""How many steps of a robot's way are drawn behind it."""
FARTHEST = 7.0
"""Depth pictures fade to black here, metres."""
GIF_COLOURS = 200
"""Colours of a gif: fewer make a smaller file."""
HOLD = 1.5
"""How long the last picture stays, seconds."""
PAPER, INK, FAINT = (24, 26, 31), (236, 238, 240), (138, 144, 154)
BAD, GOOD = palette.FAILURE.dark, palette.SUCCESS.dark
ROBOTS = tuple(colour.dark for colour in palette.ROBOTS)
"""Colours of robots 0 to 3."""
THINGS = tuple(colour.dark for colour in palette.OBJECTS)
"""Colours of the two target objects and their goals."""


@dataclass(frozen=True)
class Style:
    """How a film is shown."""

    fps: float = 15.0
    """Pictures a second."""
    every: int = 1
    """Simulation steps from one picture to the next."""
    width: int = WIDTH
    """Pixels; the height follows."""
    real: bool = False
    """Robots and objects as real meshes (the `meshes` extra) instead of solids."""


def film(
    recording: Recording,
    path: Path,
    style: Style | None = None,
    home: Home | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Write a recording as a film, `.mp4` or `.gif` by the name of `path`; home: where it plays, if it is loaded already."""
    path, style = Path(path), style or Style()
    check_film(path, style)
    write = _write_gif if path.suffix == ".gif" else _write_mp4
    write_whole(path, lambda file: write(Path(file.name), frames(recording, style, home, progress), style))


def check_film(path: Path, style: Style) -> None:
    """Refuse what cannot be made here: another kind of file, a wrong style, or an extra that is not installed."""
    if path.suffix not in KINDS:
        raise ValueError(f"{path} is neither an mp4 nor a gif - name it {path.stem}.mp4 or {path.stem}.gif")
    if style.fps <= 0 or style.every < 1 or style.width < 320:
        raise ValueError(f"a film of {style} cannot be made - fps must be over 0, every at least 1, width at least 320")
    if find_spec("PIL") is None:
        raise ValueError("films need Pillow, which is not installed - run: pip install 'housemates[video]'")
    if path.suffix == ".mp4" and find_spec("imageio_ffmpeg") is None:
        raise ValueError("mp4 films need imageio-ffmpeg - run: pip install 'housemates[video]', or make a .gif")
    if style.real:
        real_bodies()
    check_place(path)


def frames(
    recording: Recording,
    style: Style | None = None,
    home: Home | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[Image.Image]:
    """The pictures of a film one after the other, the last frame of the recording always among them."""
    from PIL.Image import Resampling

    style = style or Style()
    shown = sorted({*range(0, recording.steps + 1, style.every), recording.steps})
    studio = Studio(recording, home, style.real)
    for number, frame in enumerate(shown, start=1):
        picture = studio.picture(frame)
        if style.width != WIDTH:
            picture = picture.resize((style.width, 2 * round(picture.height * style.width / WIDTH / 2)), Resampling.LANCZOS)
        yield picture
        if progress is not None:
            progress(number, len(shown))


class Studio:
    """Everything needed to draw any frame of one recording."""

    def __init__(self, recording: Recording, home: Home | None = None, real: bool = False) -> None:
        self.recording, self.batch = recording, batch_of(recording, home)
        self.shot = Shot(self.batch, ABOVE, EYE, real)
        self.things, self.bands = thing_names(recording), bands(recording)
        self.goals = recording.episode["goal"][0]
        # Two robots fill the height of the view from above; more get a row each below them.
        self.rows = max(ABOVE[1], recording.robots * ROW)
        self.height = 36 + self.rows + GAP + recording.robots * LANE + 44
        self.height += self.height % 2

    def picture(self, frame: int) -> Image.Image:
        """One frame of the recording as a picture."""
        from PIL import Image, ImageDraw

        self._set(frame)
        sheet = Image.new("RGB", (WIDTH, self.height), PAPER)
        draw = ImageDraw.Draw(sheet)
        recording = self.recording
        draw.text((MARGIN, 10), title(recording), INK, _font(17))
        draw.text((WIDTH - MARGIN, 12), f"step {frame} of {recording.steps}", FAINT, _font(14), anchor="ra")
        sheet.paste(self._above(frame), (MARGIN, 36))
        for robot in range(recording.robots):
            self._robot(sheet, draw, frame, robot)
        self._timeline(draw, frame, 36 + self.rows + GAP)
        return sheet

    def _set(self, frame: int) -> None:
        """Bring the batch to a frame: only what can be seen."""
        kept, state = self.recording.frames, self.batch.state
        for name in ("pose", "held", "thing", "thing_yaw", "door"):
            getattr(state, name)[0] = kept[name][frame]
        state.arm[0] = self.recording.arm()[frame]

    def _above(self, frame: int) -> Image.Image:
        """The home from above with robots, objects and goals marked, and what has just happened written below."""
        from PIL import Image, ImageDraw

        drawn = self.shot.above(PAPER, dict(enumerate(ROBOTS)), dict(enumerate(THINGS)))
        picture = Image.fromarray(drawn).reduce(SHARP)
        draw = ImageDraw.Draw(picture, "RGBA")
        pose, thing, held = (self.recording.frames[name] for name in ("pose", "thing", "held"))
        for robot in range(self.recording.robots):
            way = pose[max(0, frame - TRAIL) : frame + 1, robot]
            points = [tuple(p) for p in self.shot.project(np.insert(way[:, :2], 1, 0.02, axis=1))]
            if len(points) > 1:
                draw.line(points, (*ROBOTS[robot], 150), 3, joint="curve")
        for i, colour in enumerate(THINGS):
            # Goals may share a place, as in Set Table; then one ring lies in the other.
            _ring(draw, self.shot.project(self.goals[i][None])[0], 9 + 4 * i, colour)
            if i not in held[frame]:
                _ring(draw, self.shot.project(thing[frame, i][None])[0], 4, colour, filled=True)
        for robot in range(self.recording.robots):
            x, z, _ = pose[frame, robot]
            at = self.shot.project(np.array([[x, 1.25, z]]))[0]
            if held[frame, robot] >= 0:
                _ring(draw, at + (11, -7), 4, THINGS[held[frame, robot]], filled=True)
            _badge(draw, at, str(robot), ROBOTS[robot])
        self._legend(draw, frame)
        self._caption(draw, frame)
        return picture

    def _legend(self, draw: ImageDraw.ImageDraw, frame: int) -> None:
        y = 6
        for i, colour in enumerate(THINGS):
            _ring(draw, (12, y + 9), 4, colour, filled=True)
            draw.text((22, y), self.things[i], (*INK, 255), _font(13), stroke_width=2, stroke_fill=PAPER)
            y += 18
        _ring(draw, (12, y + 9), 6, FAINT)
        draw.text((22, y), "goal", (*FAINT, 255), _font(13), stroke_width=2, stroke_fill=PAPER)

    def _caption(self, draw: ImageDraw.ImageDraw, frame: int) -> None:
        recent = [e for e in self.recording.events if frame - CAPTION_STEPS < e["tick"] <= frame and e["kind"] != "infeasible"]
        if not recent:
            return
        event = recent[-1]
        colour = ROBOTS[event["robot"]] if event["robot"] >= 0 else BAD if event["kind"] != "success" else GOOD
        middle = (ABOVE[0] / 2, ABOVE[1] - 20)
        left, top, right, bottom = draw.textbbox(middle, told(event, self.things), _font(19), anchor="mm")
        draw.rounded_rectangle((left - 12, top - 8, right + 12, bottom + 8), 9, (*PAPER, 235), (*colour, 255), 2)
        draw.text(middle, told(event, self.things), (*colour, 255), _font(19), anchor="mm")

    def _robot(self, sheet: Image.Image, draw: ImageDraw.ImageDraw, frame: int, robot: int) -> None:
        """One robot's row: what it sees in colour and depth, what it does, what it holds."""
        from PIL import Image

        x, y = MARGIN + ABOVE[0] + GAP, 36 + robot * ROW
        rgb, depth = self.shot.head(robot)
        sheet.paste(Image.fromarray(rgb), (x, y))
        sheet.paste(Image.fromarray(coloured(depth)), (x + EYE + 4, y))
        draw.rectangle((x - 1, y - 1, x + 2 * EYE + 4, y + EYE), outline=ROBOTS[robot], width=2)
        busy = next((b.action for b in self.bands if b.robot == robot and b.first < max(frame, 1) <= b.last), NO_OP)
        name = self.recording.header["robots"][robot].replace("_", " ")
        _dot(draw, (x + 10, y + EYE + 17), str(robot), ROBOTS[robot])
        draw.text((x + 26, y + EYE + 2), doing(busy, self.things), INK, _font(14))
        draw.text((x + 26, y + EYE + 18), f"{name}, {holding(self.recording, frame, robot)}", FAINT, _font(12))

    def _timeline(self, draw: ImageDraw.ImageDraw, frame: int, top: int) -> None:
        """A lane for each robot with what it was busy with; sub-goals as marks; the present as a line."""
        left, right = MARGIN + 22, WIDTH - MARGIN
        scale = (right - left) / max(self.recording.steps, 1)
        foot = top + self.recording.robots * LANE
        for robot in range(self.recording.robots):
            _dot(draw, (MARGIN + 8, top + robot * LANE + LANE // 2 - 1), str(robot), ROBOTS[robot])
            draw.rectangle((left, top + robot * LANE, right, top + (robot + 1) * LANE - 4), fill=(38, 41, 48))
        for band in self.bands:
            x0, x1, y = left + band.first * scale, left + band.last * scale, top + band.robot * LANE
            colour = _faded(ROBOTS[band.robot], 0.85 if PICK <= band.action < NO_OP else 0.18 if band.action == NO_OP else 0.45)
            draw.rectangle((x0, y, max(x1 - 1, x0 + 1), y + LANE - 4), fill=colour)
            words = short(band.action, self.things)
            if words and draw.textlength(words, _font(11)) < x1 - x0 - 8:
                draw.text((x0 + 4, y + 3), words, INK, _font(11))
        written = [0.0, 0.0]
        for event in self.recording.events:
            self._mark(draw, event, left + event["tick"] * scale, top, foot, written)
        now = left + frame * scale
        draw.line((now, top - 3, now, foot + 2), (255, 255, 255), 2)

    def _mark(
        self, draw: ImageDraw.ImageDraw, event: dict[str, Any], x: float, top: int, foot: int, written: list[float]
    ) -> None:
        """An event in the timeline; written: how far right the two lines of words below it are full."""
        if event["kind"] == "subgoal":
            verb, _, thing = event["what"].partition(" ")
            colour = THINGS[int(thing[-1])] if thing.startswith("obj") else INK
            draw.polygon([(x, foot), (x - 5, foot + 9), (x + 5, foot + 9)], fill=ROBOTS[event["robot"]])
            half = draw.textlength(verb, _font(12)) / 2
            x = min(x, WIDTH - MARGIN - half)
            line = 0 if written[0] < x - half else 1
            written[line] = x + half + 4
            draw.text((x, foot + 10 + 13 * line), verb, colour, _font(12), anchor="ma")
        elif event["kind"] in ("collision", "timeout"):
            draw.line((x - 1, top - 3, x - 1, foot + 9), BAD, 3)
        elif event["kind"] in ("interruption", "infeasible"):
            y = top + event["robot"] * LANE
            draw.line((x, y, x, y + LANE - 4), BAD if event["kind"] == "infeasible" else INK, 1)


def coloured(depth: np.ndarray) -> np.ndarray:
    """A depth picture [S, S] in metres as colours [S, S, 3] uint8: near is bright, FARTHEST and nothing hit are black."""
    return palette.depth_colours(np.where(depth > 0, depth, FARTHEST) / FARTHEST)


@lru_cache
def _font(size: int) -> Any:
    from PIL import ImageFont

    return ImageFont.load_default(size)


def _ring(draw: ImageDraw.ImageDraw, middle: Any, radius: float, colour: Colour, filled: bool = False) -> None:
    x, y = (float(v) for v in middle)
    draw.ellipse((x - radius - 1, y - radius - 1, x + radius + 1, y + radius + 1), outline=(*PAPER, 200), width=4)
    draw.ellipse((x - radius, y - radius, x + radius, y + radius), (*colour, 255) if filled else None, (*colour, 255), 2)


def _badge(draw: ImageDraw.ImageDraw, middle: Any, word: str, colour: Colour) -> None:
    """A robot's number above its head."""
    x, y = (float(v) for v in middle)
    draw.ellipse((x - 8, y - 8, x + 8, y + 8), (*colour, 255), (*PAPER, 255), 1)
    draw.text((x, y), word, PAPER, _font(13), anchor="mm")


def _dot(draw: ImageDraw.ImageDraw, middle: tuple[float, float], word: str, colour: Colour) -> None:
    x, y = middle
    draw.ellipse((x - 8, y - 8, x + 8, y + 8), colour)
    draw.text((x, y), word, PAPER, _font(12), anchor="mm")


def _faded(colour: Colour, share: float) -> Colour:
    red, green, blue = (round(c * share + p * (1 - share)) for c, p in zip(colour, PAPER, strict=True))
    return red, green, blue


def _write_mp4(path: Path, pictures: Iterator[Image.Image], style: Style) -> None:
    import imageio_ffmpeg

    first = next(pictures)
    writer = imageio_ffmpeg.write_frames(
        str(path), first.size, fps=style.fps, codec="libx264", quality=8, macro_block_size=2, ffmpeg_log_level="error"
    )
    writer.send(None)
    last = first
    writer.send(np.ascontiguousarray(first))
    for last in pictures:
        writer.send(np.ascontiguousarray(last))
    for _ in range(round(HOLD * style.fps)):
        writer.send(np.ascontiguousarray(last))
    writer.close()


def _write_gif(path: Path, pictures: Iterator[Image.Image], style: Style) -> None:
    from PIL import Image
    from PIL.Image import Dither, Quantize

    every = list(pictures)
    # One palette for all pictures, so that what stands still stays the same and costs nothing. The colours that carry
    # meaning cover few pixels and are added by hand.
    some = np.concatenate([np.asarray(every[k * (len(every) - 1) // 3]) for k in range(4)])
    common = Image.fromarray(some).quantize(GIF_COLOURS, Quantize.FASTOCTREE).getpalette() or []
    table = Image.new("P", (1, 1))
    marks = (PAPER, INK, FAINT, BAD, GOOD, *ROBOTS, *THINGS)
    table.putpalette([*common[: 3 * GIF_COLOURS], *(value for colour in marks for value in colour)])
    flat = [picture.quantize(palette=table, dither=Dither.NONE) for picture in every]
    time = [round(1000 / style.fps)] * (len(flat) - 1) + [round(1000 * HOLD)]
    flat[0].save(path, save_all=True, append_images=flat[1:], duration=time, loop=0, optimize=True, disposal=1)
