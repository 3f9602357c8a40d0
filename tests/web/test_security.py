"""Who may come in: hosts, origins, tokens, and how often."""

import pytest

from housemates.web.messages import Refused
from housemates.web.security import AccessRules, RateLimit

HERE = AccessRules("127.0.0.1", 7431)
OPEN = AccessRules("0.0.0.0", 7431, "secret")


@pytest.mark.parametrize("host", ["127.0.0.1:7431", "localhost:7431", "LOCALHOST:7431", "[::1]:7431"])
def test_the_servers_own_names_are_right(host):
    assert HERE.host_fits(host)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:7431", "127.0.0.1:80", "127.0.0.1.evil.example:7431", "", None])
def test_a_foreign_host_is_wrong(host):
    assert not HERE.host_fits(host)


@pytest.mark.parametrize("origin", ["http://127.0.0.1:7431", "http://127.0.0.1:7431/", None])
def test_the_pages_own_origin_is_right(origin):
    assert HERE.origin_fits(origin, "127.0.0.1:7431")


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "http://127.0.0.1:80", "null", "file://", "http://[", "http://127.0.0.1:7431.evil.example"],
)
def test_a_foreign_origin_is_wrong(origin):
    assert not HERE.origin_fits(origin, "127.0.0.1:7431")


def test_without_a_token_nobody_needs_one():
    HERE.check({"host": "localhost:7431"}, {}, api=True)


@pytest.mark.parametrize(("headers", "query"), [({"authorization": "Bearer secret"}, {}), ({}, {"token": "secret"})])
def test_the_token_opens_the_door(headers, query):
    OPEN.check({"host": "box:7431", **headers}, query, api=True)


@pytest.mark.parametrize(("headers", "query"), [({}, {}), ({"authorization": "secret2"}, {}), ({}, {"token": "segret"})])
def test_without_the_token_the_door_stays_shut(headers, query):
    with pytest.raises(Refused, match="a token is needed"):
        OPEN.check({"host": "box:7431", **headers}, query, api=True)


def test_the_pages_own_files_need_no_token():
    OPEN.check({"host": "box:7431"}, {}, api=False)


def test_a_rate_lets_so_many_through_and_no_more():
    rate = RateLimit(5, seconds=1000)
    assert [rate.allows() for _ in range(7)] == [True] * 5 + [False] * 2
