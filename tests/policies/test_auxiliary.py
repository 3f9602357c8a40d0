"""Training-only heads that predict bits and classes from the memory."""

import math

import pytest
import torch

from housemates.policies.policy import UNKNOWN_CLASS, Auxiliary

NOTHING = torch.zeros(0, dtype=torch.int64)


def test_the_loss_of_undecided_logits_is_log_2_for_each_bit_and_that_of_even_choices_for_the_class():
    head = Auxiliary(8, 5, classes=25)
    by_bit, by_class = head.losses(torch.zeros(6, 8), torch.ones(6, 5, dtype=torch.uint8), torch.arange(6))
    assert by_bit.tolist() == pytest.approx([math.log(2)] * 5)
    assert by_class.item() == pytest.approx(math.log(25))


def test_bits_are_judged_one_by_one():
    head = Auxiliary(2, 3)
    torch.nn.init.zeros_(head.head.weight)
    head.head.bias.data = torch.tensor([0.0, 2.0, -2.0])
    by_bit, by_class = head.losses(torch.ones(4, 2), torch.ones(4, 3), NOTHING)
    assert by_bit.tolist() == pytest.approx([math.log(1 + math.exp(-z)) for z in (0.0, 2.0, -2.0)])
    assert by_class.item() == 0


def test_classes_that_are_not_known_teach_nothing():
    head, core = Auxiliary(8, 0, classes=4), torch.randn(3, 8, generator=torch.Generator().manual_seed(0))
    label = torch.tensor([2, UNKNOWN_CLASS, 1])
    _, by_class = head.losses(core, torch.zeros(3, 0), label)
    known = head(core[::2]).log_softmax(-1)[[0, 1], [2, 1]]
    assert by_class.item() == pytest.approx(-known.sum().item() / 3)
    assert head.losses(core, torch.zeros(3, 0), torch.full((3,), UNKNOWN_CLASS))[1].item() == 0


def test_both_losses_teach_the_memory():
    for part in (0, 1):
        core = torch.ones(2, 8, requires_grad=True)
        Auxiliary(8, 5, classes=3).losses(core, torch.ones(2, 5), torch.zeros(2, dtype=torch.int64))[part].sum().backward()
        assert core.grad is not None
        assert core.grad.any()
