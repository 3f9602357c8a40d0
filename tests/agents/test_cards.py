"""Model cards: every shipped policy has one, and it says what its metadata says."""

import pytest

from housemates.agents.agent import Agent, is_holdout, scripted, shipped
from housemates.agents.cards import card, interval, list_cards, scores
from housemates.cli.main import main

SHIPPED = shipped()


@pytest.mark.parametrize("agent", SHIPPED, ids=lambda agent: agent.name)
def test_every_shipped_policy_has_a_card(agent):
    text = card(agent)
    assert text.startswith(f"# {agent.name}\n")
    assert f"{agent.meta['decisions'] / 1e6:.1f} M decisions" in text
    assert f"seed {agent.meta['seed']}" in text
    assert ("Never train with it" in text) == is_holdout(agent)


def test_a_score_has_its_interval_where_episodes_are_known():
    agent = Agent("one", "random", meta={"mate": 0.9, "episodes": 100, "split": "dev"})
    assert scores(agent) == ["* success with its training teammate: 90.0 % (split dev, 95 % interval 83 to 94 %, 100 episodes)"]


def test_a_score_without_a_count_of_episodes_has_no_interval():
    agent = Agent("one", "random", meta={"zsc": 0.7318, "split": "dev"})
    assert scores(agent) == ["* success with the held-out partners (zero-shot): 73.2 % (split dev)"]


@pytest.mark.parametrize(("share", "games"), [(0.0, 100), (0.5, 20), (1.0, 100)])
def test_an_interval_holds_the_share_and_stays_between_0_and_1(share, games):
    low, high = interval(share, games)
    assert 0 <= low <= share <= high <= 1
    assert high - low < 0.5


def test_a_script_has_no_card():
    with pytest.raises(ValueError, match="no trained policy"):
        card(scripted("solo"))


def test_the_list_has_a_row_for_each_policy():
    assert len(list_cards(SHIPPED).splitlines()) == len(SHIPPED) + 2


def test_the_command_line_prints_a_card(capsys):
    assert main(["partners", "card", "pretrained/bdp-tidy_house-depth"]) == 0
    assert "| task | Tidy House |" in capsys.readouterr().out
