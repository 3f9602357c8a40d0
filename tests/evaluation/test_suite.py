"""The held-out suite: who is in which family, sets of partners by name, disturbed partners, rows that say their version."""

import numpy as np
import pytest

from helpers.batches import episodes, home
from helpers.evaluation_rows import row
from helpers.small_runs import small_run
from housemates.agents import agent as registry
from housemates.agents.agent import Agent, disturb, is_holdout, read_partners, resolve, scripted, write_partners
from housemates.cli.main import main
from housemates.evaluation import competence, suite
from housemates.evaluation.crossplay import crossplay, identity, pair_up, trained_with
from housemates.evaluation.evaluate import evaluate
from housemates.evaluation.holdouts import holdouts, mark, named_partners, suite_of
from housemates.evaluation.metrics import who
from housemates.evaluation.play import Games, as_teams
from housemates.evaluation.protocol import summary
from housemates.evaluation.resume import kept_beside
from housemates.evaluation.rows import make_rows, write_rows
from housemates.methods.ego import Coordination, check_partners
from housemates.policies.config import PolicyConfig
from housemates.reports.sources import gather, read_source
from housemates.sim.rules import Rules
from housemates.sim.scripts import FURTHER, PAPER
from housemates.training.rollout import Slots


@pytest.fixture
def run(tmp_path):
    """A complete holdout."""
    folder = tmp_path / "holdouts" / "gt_coord-tidy_house-smoke-100"
    mark(folder)
    return small_run(folder, seed=100)


def table(**changes):
    """A table of one row."""
    return make_rows({name: [value] for name, value in row(**changes).items()})


def member(**meta):
    return Agent("x/0", "learned", "nowhere", meta={"holdout": True, "method": "gt_coord", "observations": "state"} | meta)


@pytest.mark.parametrize(
    ("partner", "family"),
    [
        (scripted("noop"), "paper_scripts"),
        (scripted("slow"), "further_scripts"),
        (scripted("solo"), ""),
        (member(), "gt_coord_state"),
        (member(observations="depth"), "gt_coord_depth"),
        (member(observations="depth+state"), "gt_coord_depth"),
        (member(method="bdp"), "populations"),
        (member(preference="avoids the kitchen"), "preferences"),
        (member(method="behaviour_cloning"), "people"),
        (disturb(member(), "blind"), "disturbed"),
        (member(holdout=False), ""),
        (Agent("sealed", "sealed", "127.0.0.1:1/p0"), "hidden"),
    ],
)
def test_a_partner_has_the_family_of_what_it_is(partner, family):
    assert suite.family_of(partner) == family


def test_the_paper_s_partners_are_the_default_and_a_named_subset():
    default = [p.name for p in holdouts("tidy_house")]
    assert default[:3] == [f"script/{name}" for name in PAPER]
    assert len(default) == 11
    assert [p.name for p in named_partners(["suite/paper"], "tidy_house")] == default


TASKS = ("tidy_house", "set_table", "prepare_groceries")


@pytest.mark.parametrize("task", TASKS)
def test_everybody_is_all_scripts_and_every_learned_partner_also_disturbed(task):
    families = suite_of(task, everybody=True)
    names = [p.name for found in families.values() for p in found]
    assert {f"script/{name}" for name in (*PAPER, *FURTHER)} <= set(names)
    learned = [p for name in suite.LEARNED for p in families[name]]
    assert {p.name for p in families["disturbed"]} == {f"{how}/{p.name}" for how in registry.DISTURBED for p in learned}
    assert len(names) == len(set(names))


@pytest.mark.parametrize("task", TASKS)
def test_the_suite_has_thirty_partners_in_seven_families_and_nobody_who_was_dropped(task):
    everybody, families = suite_of(task, everybody=True), suite_of(task)
    found = named_partners(["suite"], task)
    assert len(found) == sum(map(len, families.values())) >= 30
    assert sum(map(len, everybody.values())) - len(found) == len(suite.dropped_of(task)) > 0
    assert [name for name, members in families.items() if not members] == ["people"]
    assert {p.name for p in holdouts(task)} <= {p.name for p in found}


def test_a_family_is_named_after_the_suite():
    found = [p.script for p in named_partners(["suite/further_scripts"], "set_table")]
    assert found == [name for name in FURTHER if f"script/{name}" not in suite.dropped_of("set_table")]
    assert "slow" in found


@pytest.mark.parametrize(("name", "words"), [("suite/strangers", "no family"), ("suite/people", "has nobody yet")])
def test_a_family_that_is_not_there_is_told(name, words):
    with pytest.raises(ValueError, match=words):
        named_partners([name], "tidy_house")


def test_holdouts_of_a_folder_are_in_the_suite(run):
    found = named_partners(["suite"], "tidy_house", [run.parent])
    assert f"blind/{run.name}/0" in {p.name for p in found}


def test_further_scripts_are_never_partners_in_training():
    assert all(is_holdout(scripted(name)) for name in FURTHER)
    with pytest.raises(ValueError, match="held out"):
        check_partners([scripted("slow")])
    check_partners([scripted("slow")], one=True)


# Disturbed partners


def test_a_disturbed_partner_is_named_before_its_own_name(run):
    (found,) = resolve(f"blind/{run}/1")
    assert (found.name, found.disturbed, found.path) == (f"blind/{run.name}/1", "blind", resolve(f"{run}/1")[0].path)
    assert len(resolve(f"uninterruptible/{run}")) == 2


@pytest.mark.parametrize("text", ["blind/script/noop", "uninterruptible/random", "blind/"])
def test_only_learned_partners_are_disturbed(text):
    with pytest.raises(ValueError, match="write blind/NAME or uninterruptible/NAME"):
        resolve(text)


def test_a_disturbed_partner_is_another_one_and_known_to_who_knows_it(run):
    plain, blind = resolve(f"{run}/0")[0], resolve(f"blind/{run}/0")[0]
    assert identity(plain) != identity(blind)
    assert {identity(plain), identity(blind)} <= trained_with(resolve(f"{run}/1")[0])


def test_lists_of_partners_keep_how_they_are_disturbed_and_old_lists_are_read(run, tmp_path):
    found = [*resolve(f"blind/{run}/0"), *resolve(f"{run}/1")]
    write_partners(tmp_path / "partners.json", found, tmp_path)
    assert [p.disturbed for p in read_partners(tmp_path / "partners.json", tmp_path)] == ["blind", ""]
    assert '"disturbed": ""' not in (tmp_path / "partners.json").read_text()


def test_a_blind_partner_senses_nobody_and_neither_kind_is_interrupted(run):
    plain, blind, hard = (resolve(f"{how}{run}/0")[0] for how in ("", "blind/", "uninterruptible/"))
    actors = registry_actors([plain, blind, hard])
    teams = as_teams([[actors[k], "noop"] for k in range(3)])
    games = Games(episodes(), [home()], teams, Rules(), 0, False, np.arange(1), swap=False)
    games.begin(np.arange(3), np.arange(3))
    assert games.actors.blind[:3, 0].tolist() == [False, True, False]
    assert games.batch.state.interruptible[:3, 0].tolist() == [True, False, False]


def registry_actors(agents):
    from housemates.agents.actors import load_actors

    known = load_actors(agents)
    return [known[agent] for agent in agents]


def test_disturbed_partners_play_other_games_than_they_do_as_they_are(run):
    partners = [p for how in ("", "blind/", "uninterruptible/") for p in resolve(f"{how}{run}/0")]
    rows = crossplay(pair_up([scripted("solo")], partners), episodes(), [home()], Rules(horizon=150), count=12)
    found = rows.to_pydict()
    assert dict.fromkeys(found["partner"]).keys() == {p.name for p in partners}
    assert set(found["family"]) == {"gt_coord_state", "disturbed"}
    assert set(found["suite"]) == {suite.VERSION}
    games = [tuple(found["distance_partner"][k : k + 12]) for k in (0, 12, 24)]
    assert len(set(games)) > 1


def test_games_that_are_kept_are_of_the_partner_as_it_is_disturbed(run, tmp_path):
    files = []
    for how in ("", "blind/", "uninterruptible/"):
        pairs = pair_up([scripted("solo")], resolve(f"{how}{run}/0"))
        files.append(kept_beside(tmp_path / "rows.parquet", pairs, episodes(), [home()], Rules(), 2, 0, False))
    assert len({kept.key for kept in files if kept is not None}) == 3


def test_games_with_sealed_partners_are_not_kept(tmp_path):
    pairs = pair_up([scripted("solo")], [Agent("sealed", "sealed", "127.0.0.1:1/p0")])
    assert kept_beside(tmp_path / "rows.parquet", pairs, episodes(), [home()], Rules(), 2, 0, False) is None


def test_an_environment_has_disturbed_partners(run):
    import housemates

    env = housemates.make_vec(
        "tidy_house", num_envs=2, partner=f"blind/{run}/0", observations="state", homes=[home()], episodes=episodes()
    )
    env.reset(seed=0)
    assert not env.batch.state.interruptible[:, 1].any()
    env.step(np.zeros(2, int))


def test_a_best_response_may_answer_a_disturbed_partner(run):
    partner = resolve(f"blind/{run}/0")
    with pytest.raises(ValueError, match="held out"):
        check_partners(partner)
    method = Coordination(PolicyConfig.state(hidden=8, features=8), 2, 0, partner, one=True)
    slots = method.pairs(0, np.random.default_rng(0), 6, 2)
    assert isinstance(slots, Slots)
    assert (slots.disturbed == np.where(slots.learns, 0, 1)).all()


def test_the_bound_of_a_disturbed_partner_is_its_own():
    assert who("blind/pair/0", "pair") != who("pair/0", "pair")


# Rows and reports


def test_rows_of_further_scripts_carry_family_and_version():
    found = crossplay(pair_up([scripted("solo")], [scripted("slow")]), episodes(), [home()], count=2).to_pydict()
    assert (set(found["family"]), set(found["suite"])) == ({"further_scripts"}, {suite.VERSION})


def test_rows_of_partners_outside_the_suite_have_no_version():
    found = crossplay(pair_up([scripted("solo")], [scripted("solo")]), episodes(), [home()], count=2).to_pydict()
    assert (set(found["family"]), set(found["suite"])) == ({""}, {0})


def test_reports_refuse_rows_of_two_versions(tmp_path):
    for version in (1, 2):
        write_rows(tmp_path / f"{version}.parquet", table(suite=version, family="paper_scripts"))
    sources = [read_source(tmp_path / f"{version}.parquet") for version in (1, 2)]
    assert gather(sources[:1]).num_rows == 1
    with pytest.raises(ValueError, match="versions 1 and 2 of the held-out suite"):
        gather(sources)


def test_rows_from_before_the_suite_can_be_reported_with_its_first_version(tmp_path):
    write_rows(tmp_path / "old.parquet", table(suite=-1, agent="a/agent"))
    write_rows(tmp_path / "new.parquet", table(suite=1, agent="b/agent"))
    assert gather([read_source(tmp_path / f"{name}.parquet") for name in ("old", "new")]).num_rows == 2


def test_an_evaluation_with_the_suite_is_told_by_worst_fifth():
    done = evaluate(
        agents=["script/solo"], partners=["suite/paper_scripts", "suite/further_scripts"], task="tidy_house", split="dev",
        episodes=2, quiet=True, threads=1,
    )  # fmt: skip
    words = [line.what.strip() for line in done.summary]
    assert "worst fifth of its partners" in words
    games = {line.what.strip(): line.games for line in done.summary}
    assert games["worst fifth of its partners"] == 4
    assert set(done.rows.column("evaluation").to_pylist()) == {"zsc"}


def test_more_than_two_families_are_told_apart():
    rows = [row(evaluation="zsc", partner=f"p{k}", family=f"family{k % 3}", success=k % 2 == 0) for k in range(6)]
    made = make_rows({name: [one[name] for one in rows] for name in rows[0]})
    assert {"family family0", "family family1", "family family2"} <= {line.what.strip() for line in summary(made)}


# What partners can do


def test_partners_are_measured_alone_beside_a_standing_robot_and_with_a_probe():
    partners = [scripted("stubborn"), scripted("noop")]
    found = competence.measure("tidy_house", partners, scripted("solo"), episodes(), [home()], 6)
    assert found["script/stubborn"]["alone"] == 1.0
    assert found["script/noop"]["alone"] == found["script/noop"]["standing"] == 0.0
    assert found["script/noop"]["probe"] > 0


def test_numbers_of_one_task_are_written_beside_those_of_others(tmp_path):
    told = {"split": "dev", "episodes": 1, "seed": 0, "probe": "script/solo", "commit": ""}
    for task in ("tidy_house", "set_table"):
        competence.write(tmp_path / "competence.json", task, {"script/noop": {"alone": 0.0}}, told)
    assert set(competence.read(tmp_path / "competence.json")) == {"tidy_house", "set_table"}


def test_the_package_knows_what_its_own_partners_can_do():
    for task in ("set_table", "tidy_house", "prepare_groceries"):
        assert {partner.name for there in suite_of(task).values() for partner in there} == set(competence.of(task))


def test_the_list_shows_every_family_with_bars(capsys):
    assert main(["holdouts", "--task", "tidy_house"]) == 0
    told = capsys.readouterr().out
    assert all(family.name in told for family in suite.FAMILIES)
    assert "script/hands_over" in told
    assert "█" in told


def test_best_responses_answer_further_scripts_by_name():
    from housemates.cli.best_responses import named

    found = named_partners(["slow", "script/blocks"], "tidy_house")
    assert named(found) == {"script/slow": "script/slow", "script/blocks": "script/blocks"}


def test_best_responses_answer_disturbed_partners_by_name(run):
    from housemates.cli.best_responses import named

    (found,) = resolve(f"blind/{run}/0")
    (text,) = named([found]).values()
    assert resolve(text) == [found]
