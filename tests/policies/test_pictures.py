"""How pictures become inputs, and the laptop encoders."""

import numpy as np
import pytest
import torch

from housemates.policies.encoders import (
    Patches,
    colour,
    distance,
    nearness,
    squares,
    state_feature_count,
    state_features,
)
from housemates.renderer.pictures import metres

METRES = np.array([0.0, 0.2, 0.3, 0.5, 1.0, 2.5, 6.0], np.float32)
AS_FLOAT = torch.tensor(METRES)
AS_MILLIMETRES = torch.tensor(np.round(METRES * 1000).astype(np.uint16))
with np.errstate(divide="ignore"):
    AS_INVERSE = torch.tensor(np.where(METRES > 0, np.round(255 * np.minimum(1, 0.5 / METRES)), 0).astype(np.uint8))
# Metres -> 1.2 / metres, by hand; nearer than 0.5 m all is alike.
NEARNESS = torch.tensor([0, 2.4, 2.4, 2.4, 1.2, 0.48, 0.2])


@pytest.mark.parametrize("depth", [AS_FLOAT, AS_MILLIMETRES], ids=["metres", "millimetres"])
def test_nearness_is_inverse_depth(depth):
    torch.testing.assert_close(nearness(depth), NEARNESS)


def test_nearness_of_bytes_is_within_half_a_level():
    assert (nearness(AS_INVERSE) - NEARNESS).abs().max() <= 0.5 * 2.4 / 255 + 1e-6


@pytest.mark.parametrize("depth", [AS_FLOAT, AS_MILLIMETRES], ids=["metres", "millimetres"])
def test_distance_is_depth_over_ten_metres(depth):
    torch.testing.assert_close(distance(depth), AS_FLOAT / 10)


def test_distance_is_clipped_at_ten_metres():
    assert distance(torch.tensor([10.0, 35.0])).tolist() == [1.0, 1.0]


def test_distance_from_bytes_is_the_inverse_of_their_encoding():
    # 0.2 m saturates to 0.5 m; at 6 m a level is 0.28 m wide.
    expected = torch.tensor([0, 0.5, 0.5, 0.5, 1.0, 2.5, 6.0]) / 10
    torch.testing.assert_close(distance(AS_INVERSE), expected, atol=0.024, rtol=0)


def test_bytes_mean_what_the_simulator_writes():
    written = np.round(255 * 0.5 / np.array([1.0, 2.5], np.float32)).astype(np.uint8)
    torch.testing.assert_close(distance(torch.tensor(written)) * 10, torch.tensor(metres(written)))


@pytest.mark.parametrize("convert", [nearness, distance])
def test_nothing_hit_is_zero_in_bytes(convert):
    assert convert(torch.zeros(3, dtype=torch.uint8)).tolist() == [0.0, 0.0, 0.0]


def test_depth_of_another_type_is_refused():
    with pytest.raises(ValueError, match=r"depth.*int32.*uint8"):
        nearness(torch.zeros(2, dtype=torch.int32))


def test_colours_of_another_type_are_refused():
    with pytest.raises(ValueError, match=r"rgb.*float32.*uint8"):
        colour(torch.zeros(2))


def test_squares_keep_pixels_of_a_square_together():
    picture = torch.arange(2 * 4 * 6 * 3).view(2, 4, 6, 3)
    cut = squares(picture, 2)
    assert torch.equal(cut[1, 1, 2], picture[1, 2:4, 4:6].flatten())


@pytest.mark.parametrize("size", [64, 128, 256])
@pytest.mark.parametrize("names", [("depth",), ("rgb",), ("depth", "rgb")], ids="+".join)
def test_encoders_take_every_size_and_picture(size, names):
    obs = {"depth": torch.ones(2, size, size, 1, dtype=torch.uint8), "rgb": torch.ones(2, size, size, 3, dtype=torch.uint8)}
    assert Patches(names, size, 48)(obs).shape == (2, 48)


def test_every_part_of_a_picture_matters():
    torch.manual_seed(0)
    net = Patches(("depth",), 64, 64)
    grey = torch.full((1, 64, 64, 1), 40, dtype=torch.uint8)
    marked = [(y, x) for y in (4, 32, 56) for x in (4, 32, 56)]
    pictures = grey.repeat(len(marked), 1, 1, 1)
    for i, (y, x) in enumerate(marked):
        pictures[i, y : y + 3, x : x + 3] = 255
    changed = (net({"depth": pictures}) - net({"depth": grey})).abs().amax(1)
    assert (changed > 1e-3).all()


def test_state_features_of_one_place_by_hand():
    # A place 2 m away, 90 degrees to the right; arm and hand stay as they are.
    state = torch.tensor([[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 1.0, 2.0, np.pi / 2]])
    expected = torch.tensor([[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 1.0, 0.4, 0.4, 0.0, 1.0, 0.0, 0.4]])
    torch.testing.assert_close(state_features(state), expected)


def test_state_features_do_not_jump_where_headings_wrap():
    right, left = torch.full((2, 18), 1.0)
    right[9::2], left[9::2] = np.pi - 1e-4, -np.pi + 1e-4
    both = state_features(torch.stack([right, left]))
    assert (both[0] - both[1]).abs().max() < 1e-3


@pytest.mark.parametrize("robots", [1, 2, 4])
def test_state_features_have_the_announced_count(robots):
    size = 16 + 2 * (robots - 1)
    assert state_features(torch.rand(3, size)).shape == (3, state_feature_count(size))
