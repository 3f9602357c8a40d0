"""Sealed partners: they play as they would here, only act is answered, and hostile frames end a connection, never a server."""

import json
import socket
import struct
import threading
from contextlib import contextmanager

import numpy as np
import pytest

from helpers.batches import episodes, home
from helpers.small_runs import small_run
from housemates.agents import sealed, sealed_server
from housemates.agents.agent import Agent, is_holdout, load, read_partners, resolve, write_partners
from housemates.agents.sealed import MAGIC, PREFIX, TOKEN, Connection, FrameError, SealedPolicy, receive, send
from housemates.agents.sealed_server import SealedServer
from housemates.evaluation.crossplay import crossplay, pair_up
from housemates.io import write_json
from housemates.policies.checkpoint import load_policy
from housemates.sim.rules import Rules


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run with two small members."""
    return small_run(tmp_path_factory.mktemp("runs") / "pair", seed=3)


@pytest.fixture(scope="module")
def pack(run, tmp_path_factory):
    """Both members, sealed."""
    folder = tmp_path_factory.mktemp("packs") / "pack"
    sealed.seal(resolve(str(run)), folder)
    return folder


@contextmanager
def serving(folder):
    server = SealedServer(folder)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def server(pack, monkeypatch):
    with serving(pack) as found:
        monkeypatch.setenv(TOKEN, found.token)
        yield found


def observations(policy, n, seed=0):
    rng = np.random.default_rng(seed)
    return {name: rng.random((n, *policy.config.shape(name))).astype(np.float32) for name in policy.config.observations}


def test_a_pack_says_nothing_of_who_is_in_it(pack, run):
    for path in pack.rglob("*.json"):
        text = path.read_text()
        assert run.name not in text
        assert '"seed"' not in text
        assert '"method"' not in text


def test_the_token_is_for_its_owner_alone(pack):
    assert (pack / "token").stat().st_mode & 0o077 == 0


def test_only_learned_policies_are_sealed(tmp_path):
    with pytest.raises(ValueError, match="cannot be sealed"):
        sealed.seal(resolve("script/noop"), tmp_path / "pack")


def test_a_full_folder_is_not_written_over(pack, run):
    with pytest.raises(ValueError, match="is not empty"):
        sealed.seal(resolve(str(run)), pack)


def test_a_server_names_its_partners_and_they_are_held_out(server):
    found = resolve(f"sealed://{server.address}")
    assert [agent.path.partition("/")[2] for agent in found] == ["p0", "p1"]
    assert all(is_holdout(agent) for agent in found)
    assert resolve(f"sealed://{server.address}/p1") == found[1:]


def test_an_unknown_name_is_told(server):
    with pytest.raises(ValueError, match="no 'p7' at"):
        resolve(f"sealed://{server.address}/p7")


def test_a_sealed_policy_takes_the_likeliest_actions_of_the_policy_itself(server, run):
    import torch

    policy = load_policy(resolve(str(run))[0].path)
    distant = SealedPolicy(Connection(server.address), "p0")
    memory, far = policy.initial_memory(5), distant.initial_memory(5)
    for step in range(3):
        seen = {name: torch.from_numpy(values) for name, values in observations(policy, 5, step).items()}
        mine, theirs = policy.act(seen, memory, greedy=True), distant.act(seen, far, greedy=True)
        assert mine.action.tolist() == theirs.action.tolist()
        memory, far = mine.memory, theirs.memory


def test_games_with_a_sealed_partner_are_the_same_every_time(server, run):
    agent, partner = resolve(str(run))[1], resolve(f"sealed://{server.address}/p0")[0]
    pairs = pair_up([agent], [partner])
    first, second = (crossplay(pairs, episodes(), [home()], Rules(horizon=120), count=6).to_pydict() for _ in range(2))
    assert first == second
    assert set(first["partner_kind"]) == {"sealed"}
    assert set(first["family"]) == {"hidden"}


def test_games_are_played_by_the_plain_command(server, run, tmp_path, capsys):
    from housemates.cli.main import main

    words = ["evaluate", "--agents", "script/solo", "--partners", f"sealed://{server.address}", "--task", "tidy_house"]
    assert main([*words, "--split", "dev", "--episodes", "2", "--out", str(tmp_path / "rows.parquet")]) == 0
    assert "sealed://" in capsys.readouterr().out


def test_without_the_token_nothing_is_told(server):
    with pytest.raises(ValueError, match="is the token right"):
        Connection(server.address, "a token that is long enough")
    with pytest.raises(ValueError, match="needs a token"):
        Connection(server.address, "")


def test_where_nobody_listens_the_remedy_is_told():
    with pytest.raises(ValueError, match="housemates holdouts serve PACK"):
        Connection("127.0.0.1:1", "a token that is long enough")


def test_a_file_may_not_open_a_connection(tmp_path):
    write_partners(tmp_path / "partners.json", [Agent("x", "sealed", "127.0.0.1:7440/p0")], tmp_path)
    with pytest.raises(ValueError, match="a file may not open a connection"):
        read_partners(tmp_path / "partners.json", tmp_path)


def test_a_folder_without_sealed_partners_is_refused(tmp_path):
    with pytest.raises(ValueError, match="holds no sealed partners"):
        SealedServer(tmp_path)


def test_a_pack_cannot_name_policies_elsewhere(pack, tmp_path):
    (tmp_path / "token").write_text("a token that is long enough")
    write_json(tmp_path / "sealed.json", {"format": 1, "partners": [{"name": "../pack/p0"}]})
    with pytest.raises(ValueError, match="outside of its folder"):
        SealedServer(tmp_path)


def raw(server):
    """A connection that speaks for itself."""
    host, _, port = server.address.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=20)


def greeted(server):
    link = raw(server)
    send(link, {"op": "hello", "token": server.token})
    assert receive(link)[0]["partners"]
    return link


def still_answers(server):
    Connection(server.address, server.token).close()


HOSTILE = {
    "no frame": b"GET / HTTP/1.1\r\n\r\n",
    "a header of 4 GB": PREFIX.pack(MAGIC, 2**32 - 1, 0),
    "numbers of 4 GB": PREFIX.pack(MAGIC, 2, 2**32 - 1) + b"{}",
    "no JSON": PREFIX.pack(MAGIC, 4, 0) + b"\x80\x04N.",
    "JSON that is no object": PREFIX.pack(MAGIC, 2, 0) + b"[]",
    "deep JSON": PREFIX.pack(MAGIC, 100_000, 0) + b"[" * 100_000,
    "another operation": b"",
    "zeros": b"\0" * 64,
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_bytes_without_a_token_get_no_answer(server, what):
    link = raw(server)
    link.sendall(HOSTILE[what] or _frame({"op": "act", "partner": 0}))
    assert link.recv(100) == b""
    still_answers(server)


def _frame(header, body=b""):
    text = json.dumps(header).encode()
    return PREFIX.pack(MAGIC, len(text), len(body)) + text + body


ARRAY = "int64", [1]
AFTER = {
    "another operation": ({"op": "weights", "partner": 0}, b"", "nothing else"),
    "no partner": ({"op": "act", "partner": 99}, b"", "there is no partner"),
    "a partner that is a word": ({"op": "act", "partner": "p0"}, b"", "there is no partner"),
    "true as a partner": ({"op": "act", "partner": True}, b"", "there is no partner"),
    "no robots": ({"op": "act", "partner": 0, "arrays": []}, b"", "give a stream"),
    "too many robots": ({"op": "act", "partner": 0, "arrays": [["int64", [5000]]]}, b"\xff" * 40_000, "give a stream"),
    "no observations": ({"op": "act", "partner": 0, "arrays": [["int64", [1]]]}, b"\xff" * 8, "send these"),
    "an object type": ({"op": "act", "partner": 0, "arrays": [["object", [1]]]}, b"\0" * 8, "unknown type"),
    "a negative shape": ({"op": "act", "partner": 0, "arrays": [["int64", [-1]]]}, b"\0" * 8, "unknown type"),
    "a huge shape": ({"op": "act", "partner": 0, "arrays": [["int64", [10**6, 10**6, 10**6]]]}, b"\0" * 8, "fewer numbers"),
    "left over numbers": ({"op": "act", "partner": 0, "arrays": [["int64", [1]]]}, b"\0" * 16, "more numbers"),
}


@pytest.mark.parametrize("what", AFTER)
def test_wrong_questions_are_answered_in_one_line_and_end_the_connection(server, what):
    header, body, words = AFTER[what]
    link = greeted(server)
    link.sendall(_frame(header, body))
    answer = receive(link)[0]
    assert words in answer["error"]
    assert "\n" not in answer["error"]
    assert receive(link) is None
    still_answers(server)


def ask(link, policy, streams, **changes):
    seen = observations(policy, len(streams)) | changes
    send(link, {"op": "act", "partner": 0}, [np.array(streams, np.int64), *seen.values()])
    return receive(link)


def test_a_stream_of_somebody_else_is_not_known(server, run):
    policy = load_policy(resolve(str(run))[0].path)
    mine, theirs = greeted(server), greeted(server)
    _, (_, streams) = ask(theirs, policy, [-1])
    assert "no stream" in ask(mine, policy, streams.tolist())[0]["error"]


def test_one_stream_moves_one_robot(server, run):
    policy = load_policy(resolve(str(run))[0].path)
    link = greeted(server)
    _, (_, streams) = ask(link, policy, [-1])
    assert "named twice" in ask(link, policy, streams.tolist() * 2)[0]["error"]


def test_numbers_that_are_not_finite_are_refused(server, run):
    policy = load_policy(resolve(str(run))[0].path)
    name = policy.config.observations[0]
    bad = np.full((1, *policy.config.shape(name)), np.nan, np.float32)
    assert "not finite" in ask(greeted(server), policy, [-1], **{name: bad})[0]["error"]


def test_old_streams_are_forgotten(server, run, monkeypatch):
    monkeypatch.setattr(sealed_server, "STREAMS", 3)
    policy = load_policy(resolve(str(run))[0].path)
    link = greeted(server)
    _, (_, streams) = ask(link, policy, [-1, -1])
    ask(link, policy, [-1, -1])
    assert "no stream" in ask(link, policy, streams.tolist()[:1])[0]["error"]


def test_a_cut_frame_is_told(server):
    one, other = socket.socketpair()
    one.sendall(struct.pack("<4sII", MAGIC, 10, 0) + b"{}")
    one.close()
    with pytest.raises(FrameError, match="ended within a frame"):
        receive(other)


def test_a_partner_is_loaded_by_its_name(server):
    policy = load(resolve(f"sealed://{server.address}/p0")[0])
    assert isinstance(policy, SealedPolicy)
    policy.connection.close()
