"""Training-only heads that predict bits from the memory."""

import pytest
import torch

from housemates.policies.policy import Auxiliary


def test_the_loss_of_undecided_logits_is_log_2():
    head = Auxiliary(8, 5)
    assert head.loss(torch.zeros(3, 2, 8), torch.ones(3, 2, 5, dtype=torch.uint8)).item() == pytest.approx(0.6931472)


def test_decisions_that_are_not_valid_do_not_count():
    head = Auxiliary(8, 5)
    g = torch.Generator().manual_seed(0)
    core, bits = torch.randn(4, 8, generator=g), torch.randint(0, 2, (4, 5), generator=g)
    valid = torch.tensor([True, False, True, False])
    torch.testing.assert_close(head.loss(core, bits, valid), head.loss(core[::2], bits[::2]))


def test_no_valid_decision_gives_a_loss_of_zero():
    assert Auxiliary(8, 5).loss(torch.ones(4, 8), torch.ones(4, 5), torch.zeros(4, dtype=torch.bool)).item() == 0


def test_the_loss_teaches_the_memory():
    core = torch.ones(2, 8, requires_grad=True)
    Auxiliary(8, 5).loss(core, torch.ones(2, 5)).backward()
    assert core.grad is not None
    assert core.grad.any()
