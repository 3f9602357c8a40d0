"""Words that no command takes: one line with what was wrong and what to write instead."""

import pytest

from housemates.cli.main import commands, main
from housemates.cli.parse import Group, check, options, parse

OWN = "(one of your own: --use package.module)"
WRONG = {
    "train --method bpd": "no method 'bpd' - did you mean 'bdp'? (one of your own: --method package.module:Class)",
    "train --task tidyhouse": f"no task 'tidyhouse' - did you mean 'tidy_house'? {OWN}",
    "train --task=tidyhouse": f"no task 'tidyhouse' - did you mean 'tidy_house'? {OWN}",
    "train --preset smok": f"no preset 'smok' - did you mean 'smoke'? {OWN}",
    "train --stage 3": "--stage 3 - choose one of: 1, 2",
    "train --seed x": "--seed x - it must be a whole number",
    "train --hours soon": "--hours soon - it must be a number",
    "train --methd bdp": "no option --methd - did you mean --method? See: housemates train --help",
    "train -m bdp": "no option -m - see: housemates train --help",
    "train runs/a": "'train' takes no 'runs/a' - leave it out, or see: housemates train --help",
    "benchmark --out b --tasks tidy_house set_tabel": f"no task 'set_tabel' - did you mean 'set_table'? {OWN}",
    "evaluate --split evil": f"no split 'evil' - did you mean 'eval'? {OWN}",
    "homes stats --split seeds:9-3": "no split 'seeds:9-3' - write a range of at most 1000 seeds, such as seeds:0-19",
    "evaluate --split seeds": "no split 'seeds' - write seeds:FIRST-LAST: one generated home for each seed of a range",
    "evaluate --split dev:3": "no split 'dev:3' - write dev: 12 generated homes with 3 kitchens",
    "evaluate --split floder:mine": "no split 'floder:mine' - did you mean 'folder'?",
    "evaluate --use": "--use needs the name of a module with tasks, sensors or homes of yours, such as --use my_house",
    "evaluate --use no_house": "no module 'no_house' for 'no_house' - is it installed, or in the present folder?",
    "benchmark": "'benchmark' needs --out - see: housemates benchmark --help",
    "holdouts train": "'holdouts train' needs --task - see: housemates holdouts train --help",
    "evaluate --episodes": "--episodes needs a value - see: housemates evaluate --help",
    "evaluate --episodes --greedy": "--episodes needs a value - see: housemates evaluate --help",
    "evaluate runs/x --members=maybe": "--members takes no value - write --members or --no-members",
    "watch a b c": "'watch' takes no 'b' - leave it out, or see: housemates watch --help",
    "homes shwo": "no command 'homes shwo' - did you mean 'show'? Choose one of: sheet, show, stats",
    "homes": "'homes' needs a command - choose one of: sheet, show, stats",
    "holdouts trian": "no command and no folder 'trian' - did you mean 'housemates holdouts train'?",
    "trian": f"no command 'trian' - did you mean 'train'? Choose one of: {', '.join(sorted(commands()))}",
}


@pytest.mark.parametrize("words", WRONG)
def test_wrong_words_are_answered_on_one_line(words, capsys):
    assert main(words.split()) == 2
    heard = capsys.readouterr()
    assert (heard.out, heard.err) == ("", f"housemates: {WRONG[words]}\n")


RIGHT = (
    "evaluate --split eval runs/x",
    "evaluate runs/x --partner script/noop random --no-members",
    "evaluate --agent a --episodes=3 --out None",
    "train --method None --decisions 10 --change ppo.epochs=4 a.b=-1",
    "homes show dev/00 --task set_table",
    "holdouts best-responses script/noop --task tidy_house --seeds 1 2 3",
    "report a b c --no-films",
    "speed --json f --seconds -1.5",
    "benchmark --out b --holdout_seeds 1 2",
)


@pytest.mark.parametrize("words", RIGHT)
def test_right_words_are_left_to_the_command(words):
    check(commands(), words.split())
    assert callable(parse(commands(), words.split(), ""))


def test_the_options_of_every_command_are_those_of_its_help(capsys):
    """What is known here of a command is what the parser knows of it."""
    known = commands()
    flat = {name: one for name, one in known.items() if not isinstance(one, Group)}
    flat |= {
        f"{name} {inner}": one
        for name, group in known.items()
        if isinstance(group, Group)
        for inner, one in group.commands.items()
    }
    assert len(flat) > 20
    for words, command in flat.items():
        with pytest.raises(SystemExit):
            main([*words.split(), "--help"])
        shown = capsys.readouterr().out.split()
        for option in options(command)[1]:
            assert {option.name, f"{option.name},"} & set(shown), (words, option)
            for alias in option.aliases:
                assert {alias, f"{alias},"} & set(shown), (words, alias)


def test_what_only_the_parser_finds_is_one_line_too(monkeypatch, capsys):
    monkeypatch.setattr("housemates.cli.parse.check", lambda *_: None)
    assert main(["train", "--method", "bpd"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.startswith("housemates: ")
    assert "bpd" in said
    assert not set(said) & set("│╭╰─")
