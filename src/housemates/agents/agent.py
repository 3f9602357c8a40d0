"""Agents by name: learned policies, latents, scripts, the random policy and user functions."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from housemates.config import from_json, to_json
from housemates.io import read_json, reading, write_json
from housemates.lookahead.settings import LookAhead, split_name
from housemates.run_folder import AGENT, RESTORE, RunFolder, is_held_out, is_policy, is_run, policies_below, run_around
from housemates.sim.scripts import HELD_OUT, PAPER, SCRIPTS, script

Kind = Literal["script", "learned", "latent", "random", "function", "person", "sealed"]
KINDS: tuple[str, ...] = get_args(Kind)
TRAINED = ("learned", "latent")
"""Kinds that come from a training: they have a folder with a policy, and perhaps a run."""
WRITTEN = ("script", "random", "function")
"""Kinds that people wrote: an agent that trains with them is not comparable at evaluation."""
HOLDOUT_SCRIPTS = PAPER
"""Scripts of the paper's evaluation (spec 11.1)."""
LATENTS = "latents"
"""The entry of what is known of a policy that has a list: what is known of each of its latents alone."""
LIST = "partners"
"""The entry of these files that has the list."""
BEST_RESPONSE = "best_response"
"""Method of agents that were trained for one partner only, perhaps a holdout: a measure for others. Excluded from training."""
PRETRAINED = "pretrained/"
"""pretrained/NAME: all policies of the package with a part of their name that is NAME, or begins with NAME and a hyphen. If
agents and held-out partners have such a name, the agents."""
DISTURBED = {
    "blind": "senses no other robot, neither in pictures nor in numbers, and is not interrupted near one",
    "uninterruptible": "senses others as ever, and is not interrupted near one",
}
"""blind/NAME and uninterruptible/NAME are learned partners that do not react as they were trained to."""
DISTURB = "write blind/NAME or uninterruptible/NAME, of a learned policy"
NAMED: set[str] = set()
"""Functions that were named on the command line or in Python; one that only a file names is never run."""
SHIPPED = Path(__file__).resolve().parent / "pretrained"
"""Policies that come with the package."""


@dataclass(frozen=True)
class Agent:
    """A policy, script, function or person that can act."""

    name: str
    """Unique in a list, shown in tables: pbt-tidy_house-state-0/3, bdp-tidy_house-state-0/z5, script/first_half."""
    kind: str
    """One of KINDS."""
    path: str = ""
    """Folder of the policy, or module:function."""
    latent: int = -1
    """Of a latent policy."""
    script: str = ""
    """A key of `sim.scripts.SCRIPTS`."""
    look_ahead: LookAhead | None = None
    """How it looks ahead before it acts near a partner; None: it does not."""
    disturbed: str = ""
    """A key of DISTURBED, for a learned policy that does not react as it was trained to."""
    meta: dict[str, Any] = field(default_factory=dict, hash=False)
    """What is known of it: observations, task, seed, decisions, method, environment, sha256, holdout, success ..."""

    @property
    def trained(self) -> bool:
        """Whether it comes from a training."""
        return self.kind in TRAINED

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"the partner '{self.name}' is of kind '{self.kind}' - choose one of: {', '.join(KINDS)}")
        if self.kind == "script":
            script(self.script)
        if self.kind == "latent" and self.latent < 0:
            raise ValueError(f"the partner '{self.name}' is a latent without number - give latent 0, 1, ...")
        if self.look_ahead is not None and self.kind in ("script", "person"):
            raise ValueError(f"'{self.name}' cannot look ahead: no policy moves it - choose a policy, random or a function")
        if self.disturbed and (self.disturbed not in DISTURBED or not self.trained):
            raise ValueError(f"the partner '{self.name}' is disturbed as '{self.disturbed}' - {DISTURB}")


def allow(places: Iterable[str]) -> None:
    """Let lists of partners in files name these functions (package.module:function) from now on."""
    NAMED.update(place for place in places if ":" in place)


def write_partners(path: Path, partners: Sequence[Agent], run: Path) -> None:
    """Write a list of partners; folders inside the run's are written relative to it, so that the run can be moved."""
    rows = []
    for partner in partners:
        place = Path(partner.path)
        if partner.trained and place.is_absolute() and place.is_relative_to(run.resolve()):
            partner = dataclasses.replace(partner, path=place.relative_to(run.resolve()).as_posix())
        row = to_json(partner)
        # Lists of earlier versions have no such entries.
        if partner.look_ahead is None:
            del row["look_ahead"]
        if not partner.disturbed:
            del row["disturbed"]
        rows.append(row)
    write_json(path, {LIST: rows})


def read_partners(path: Path, run: Path) -> list[Agent]:
    """The inverse of `write_partners`; all folders are absolute.

    A file must not run code: a function in it is refused unless the same one was named here (see `allow`).
    """
    if not path.is_file():
        raise FileNotFoundError(f"no {path.name} in {path.parent} - train that stage to its end first")
    listed = read_json(path, RESTORE)
    rows = listed.get(LIST)
    if not isinstance(rows, list) or len(listed) > 1:
        raise ValueError(f"{path} is no list of partners - {RESTORE}")
    whole = [{"look_ahead": None, "disturbed": ""} | row if isinstance(row, dict) else row for row in rows]
    found = [_placed(from_json(Agent, row, str(path)), run) for row in whole]
    for partner in found:
        if partner.kind == "sealed":
            raise ValueError(f"{path} names a sealed partner, and a file may not open a connection - name it yourself")
        if partner.kind == "function" and partner.path not in NAMED:
            raise ValueError(
                f"{path} names the function '{partner.path}' as a partner, and a file may not run code - "
                f"if you trust it, name it yourself: train and evaluate take --allow {partner.path}"
            )
    return found


def population(run: Path | str) -> list[Agent]:
    """The population of a run, in order, named RUN/0, RUN/1, ... or RUN/z0, ...

    A run whose first stage is not complete yet consists of the members it has written so far.
    """
    run = Path(run).resolve()
    place = RunFolder(run)
    if place.has_population():
        found = read_partners(place.population, run)
        return [dataclasses.replace(p, name=f"{run.name}/{p.name}") for p in found]
    members = place.members()
    if not members and place.has_agent():
        raise FileNotFoundError(f"{run} has an agent and no population - name the agent: {run}/{AGENT}")
    if not members:
        raise FileNotFoundError(f"{run} has no trained members yet - train its first stage: housemates train --resume {run}")
    return [learned(member, f"{run.name}/{int(member.name)}", _run_meta(run)) for member in members]


def agent(run: Path | str) -> Agent:
    """The coordination agent of a run."""
    run = Path(run).resolve()
    place = RunFolder(run)
    if not place.has_agent():
        raise FileNotFoundError(f"{run} has no coordination agent - train its second stage first")
    return learned(place.agent, f"{run.name}/{AGENT}", _run_meta(run) | {"stage": 2})


def learned(folder: Path | str, name: str, more: dict[str, Any] | None = None) -> Agent:
    """The policy in a folder; a policy with a latent is told by its first one (see `latents`)."""
    from housemates.policies.checkpoint import read_description

    folder = Path(folder).resolve()
    described = read_description(folder)
    config = described["config"]
    meta = {"observations": seen_as(config["observations"])} | (more or {}) | described["meta"]
    meta |= {"sha256": described["weights"].get("sha256", ""), "robots": config["robots"], "holdout": is_held_out(folder)}
    latent = config.get("latent", 0)
    return Agent(name, "latent" if latent else "learned", str(folder), 0 if latent else -1, meta=meta)


def latents(folder: Path | str, name: str, more: dict[str, Any] | None = None) -> list[Agent]:
    """The agents of a policy folder: itself, or one partner for each of its latents."""
    from housemates.policies.checkpoint import read_description

    one = learned(folder, name, more)
    if one.kind == "learned":
        return [one]
    count = read_description(folder)["config"]["latent"]
    each = one.meta.pop(LATENTS, [{}] * count)
    return [dataclasses.replace(one, name=f"{name}/z{k}", latent=k, meta=one.meta | each[k]) for k in range(count)]


def seen_as(observations: Sequence[str]) -> str:
    """The word of the command line for what a policy sees."""
    words = {("depth", "state"): "depth", ("rgb", "state"): "rgb", ("state", "predicates"): "state", ("state",): "blind"}
    return words.get(tuple(observations), "+".join(observations))


def is_holdout(partner: Agent) -> bool:
    """Whether a partner belongs to the evaluation, so that it is excluded from training."""
    if partner.kind == "script":
        return partner.script in HELD_OUT
    return bool(partner.meta.get("holdout")) or (partner.trained and is_held_out(partner.path))


def run_name(partner: Agent) -> str:
    """What trained a partner, disturbed or not: its run; a script or a function by its own name."""
    if not partner.trained:
        return partner.name
    plain = partner.name.removeprefix(f"{partner.disturbed}/")
    return str(partner.meta.get("run") or plain.rpartition("/")[0] or plain)


def scripted(name: str) -> Agent:
    """A scripted robot by name."""
    return Agent(f"script/{name}", "script", script=name, meta={"holdout": name in HELD_OUT})


def resolve(text: str, task: str | None = None) -> list[Agent]:
    """Resolve a name: script/NAME (or NAME alone), random, a run's folder (its population), RUN/agent, RUN/3, RUN/z5, the
    folder of a policy, package.module:function, or what comes with the package: its name, or pretrained/ and the beginning of
    it; learned ones also as blind/... or uninterruptible/... (see DISTURBED). Behind any of them +lookahead makes it look ahead
    (`lookahead.settings`).

    With a task, policies that were trained for another one are refused.
    """
    name, ahead = split_name(text)
    found = [looking(partner, ahead) for partner in _resolve(name.rstrip("/"))]
    for partner in found:
        trained = partner.meta.get("task")
        if task is not None and trained not in (None, "", task):
            raise ValueError(f"{partner.name} was trained for {trained}, not for {task} - choose another partner or --task")
    return found


def looking(agent: Agent, ahead: LookAhead | None) -> Agent:
    """An agent that looks ahead before it acts near a partner; its name says so."""
    if ahead is None:
        return agent
    name = agent.name if agent.look_ahead is None else agent.name.removesuffix(f" + {agent.look_ahead.title}")
    return dataclasses.replace(agent, name=f"{name} + {ahead.title}", look_ahead=ahead)


def resolve_all(texts: Iterable[str], task: str | None = None) -> list[Agent]:
    """Resolve several names, each agent once; equal names of different folders are told apart by their parents."""
    return distinct(partner for text in texts for partner in resolve(text, task))


def distinct(partners: Iterable[Agent]) -> list[Agent]:
    """Partners, each once; equal names of different folders are told apart by their parents."""
    found: list[Agent] = []
    for partner in partners:
        found += [] if any(_same(partner, other) for other in found) else [partner]
    often = Counter(p.name for p in found)
    return [dataclasses.replace(p, name=_longer(p)) if often[p.name] > 1 else p for p in found]


def load(partner: Agent) -> Any:
    """What acts for a partner as a `Policy` does; None for scripts (the simulator moves them) and people."""
    if partner.trained:
        from housemates.policies.checkpoint import load_policy, read_description

        wanted, found = partner.meta.get("sha256"), read_description(partner.path)["weights"].get("sha256")
        if wanted and wanted != found:
            raise ValueError(f"{partner.path} is not the policy it was when '{partner.name}' was chosen - restore it")
        return load_policy(partner.path)
    if partner.kind == "sealed":
        from housemates.agents.sealed import load_sealed

        return load_sealed(partner)
    if partner.kind in ("random", "function"):
        from housemates.agents.functions import FunctionPolicy, RandomPolicy, find

        return RandomPolicy() if partner.kind == "random" else FunctionPolicy(find(partner.path), name=partner.path)
    return None


def shipped() -> list[Agent]:
    """Policies that come with the package, named by their place in it."""
    found = []
    for place in policies_below(SHIPPED):
        found += latents(place, place.relative_to(SHIPPED).as_posix(), _run_meta(place))
    return found


def disturb(partner: Agent, how: str) -> Agent:
    """A learned partner as it is when it does not react as it was trained to; how: a key of DISTURBED."""
    return dataclasses.replace(partner, name=f"{how}/{partner.name}", disturbed=how)


def _resolve(text: str) -> list[Agent]:
    how, _, name = text.partition("/")
    if how in DISTURBED and not Path(text).exists():
        if not name:
            raise ValueError(f"'{text}' names nobody - {DISTURB}")
        return [disturb(partner, how) for partner in _resolve(name)]
    if text.startswith("sealed://"):
        from housemates.agents.sealed import sealed_agents

        return sealed_agents(text)
    if text == "random":
        return [Agent("random", "random")]
    place = Path(text)
    if text.startswith("script/") or (text in SCRIPTS and not place.exists()):
        name = text.removeprefix("script/")
        script(name)
        return [scripted(name)]
    place = Path(text)
    if is_run(place):
        return population(place)
    if is_policy(place):
        run = run_around(place)
        return latents(place, f"{run.name}/{place.resolve().name}" if run else place.resolve().name, _run_meta(place))
    if is_run(place.parent):
        return [_part(place.parent, place.name)]
    if ":" in text:
        from housemates.agents.functions import SEEN, find, told_by

        function = find(text)
        allow([text])
        meta = {"observations": seen_as(getattr(function, "observations", SEEN))} | told_by(function)
        return [Agent(text, "function", text, meta=meta)]
    everybody = shipped()
    wanted = text.removeprefix(PRETRAINED)
    begins = f"/{wanted}-" if text.startswith(PRETRAINED) else f"/{wanted}/"
    known = [p for p in everybody if f"/{wanted}/" in f"/{p.name}/" or begins in f"/{p.name}"]
    if text.startswith(PRETRAINED):
        # bdp-tidy_house-state is the agent, not a held-out population of that name.
        known = [p for p in known if not is_holdout(p)] or known
    if known:
        return known
    if text.startswith(PRETRAINED):
        there = ", ".join(p.name for p in everybody) or "none"
        raise ValueError(f"no policy '{text}' comes with the package - choose one of: {there}")
    raise ValueError(
        f"no partner '{text}' - give script/NAME ({', '.join(SCRIPTS)}), random, a run's folder, RUN/agent, RUN/3, RUN/z5, "
        "the folder of a policy, module:function, blind/NAME, or a name that `housemates partners` lists"
    )


def _part(run: Path, part: str) -> Agent:
    """One of a run: agent, 3, z5."""
    name, _, steps = part.partition("@")
    if name == AGENT:
        return _checkpoint(run, steps) if steps else agent(run)
    everybody = {p.name.rpartition("/")[2]: p for p in population(run)}
    if part not in everybody:
        raise ValueError(f"{run} has no '{part}' - choose one of: {', '.join(everybody)}, {AGENT}")
    return everybody[part]


def _checkpoint(run: Path, steps: str) -> Agent:
    """The agent of a run as it was after so many simulation steps."""
    known = sorted(int(p.name.rpartition("-")[2]) for p in RunFolder(run).agent.glob("steps-[0-9]*") if is_policy(p))
    if not steps.isdecimal() or int(steps) not in known:
        there = f"choose one of: {', '.join(map(str, known))}" if known else "train it with --change checkpoints=[STEPS,...]"
        raise ValueError(f"{run} has no checkpoint of its agent after '{steps}' steps - {there}")
    place = RunFolder(run).checkpoint(int(steps))
    return latents(place, f"{run.name}/{AGENT}@{int(steps)}", _run_meta(place))[0]


def _placed(partner: Agent, run: Path) -> Agent:
    if not partner.trained or Path(partner.path).is_absolute():
        return partner
    return dataclasses.replace(partner, path=str((run / partner.path).resolve()))


def _run_meta(folder: Path) -> dict[str, Any]:
    """What the run around a folder says of everything in it."""
    run = run_around(folder)
    if run is None:
        return {}
    config = RunFolder(run).read_config()
    with reading(RunFolder(run).config, RESTORE):
        return {
            **{key: config[key] for key in ("task", "method", "observations")},
            "seed": config["training"]["seed"],
            "zero_shot": config.get("zero_shot", True),
        }


def _same(one: Agent, other: Agent) -> bool:
    """Whether two partners are the same whatever they are called."""
    same = ("kind", "path", "latent", "script", "look_ahead", "disturbed")
    return all(getattr(one, name) == getattr(other, name) for name in same)


def _longer(partner: Agent) -> str:
    """A name with the folder the run lies in."""
    run = run_around(partner.path)
    return partner.name if run is None else f"{run.parent.name}/{partner.name}"
