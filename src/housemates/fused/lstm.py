"""One step of an LSTM, forward and backward, eight units at a time: loops over six arrays are more than LLVM vectorises.

Arrays are float32, contiguous and two-dimensional; the number of units H is a multiple of 8. Gates lie in torch's order:
input, forget, content, output.
"""

from __future__ import annotations

from housemates.fused.pointwise import P0, P1, P2, P3, P4, P5, P6, Q0, Q1, Q2, Q3, TANH_END, TANH_START
from housemates.renderer.simd import WIDTH, abs8, fma, inner, kernel, load, select, splat, store, vmax, vmin


@inner
def _tanh(x):
    """Hyperbolic tangent of eight numbers, as `pointwise.tanh`."""
    ends, one = splat(TANH_END) <= abs8(x), splat(1.0)
    x = vmax(vmin(x, splat(TANH_END)), splat(TANH_START))
    y = x * x
    p = fma(y, splat(P6), splat(P5))
    p = fma(p, y, splat(P4))
    p = fma(p, y, splat(P3))
    p = fma(p, y, splat(P2))
    p = fma(p, y, splat(P1))
    p = fma(p, y, splat(P0))
    q = fma(y, splat(Q3), splat(Q2))
    q = fma(q, y, splat(Q1))
    q = fma(q, y, splat(Q0))
    return select(ends, vmax(vmin(x, one), -one), x * p / q)


@inner
def _sigmoid(x):
    """Logistic function of eight numbers."""
    half = splat(0.5)
    return fma(_tanh(x * half), half, half)


@kernel
def lstm_forward(gates, bias, old, cell, shown, out):
    """One step for B rows.

    gates [B, 4H] without bias [4H] become the activated gates; old [B, H] is the cell before, cell [B, H] after; shown
    [B, H] = tanh(cell); out [B, H] is the new h.
    """
    rows, hidden = out.shape
    for b in range(rows):
        g, r = 4 * hidden * b, hidden * b
        for j in range(0, hidden, WIDTH):
            enter = _sigmoid(load(gates, g + j) + load(bias, j))
            keep = _sigmoid(load(gates, g + hidden + j) + load(bias, hidden + j))
            content = _tanh(load(gates, g + 2 * hidden + j) + load(bias, 2 * hidden + j))
            show = _sigmoid(load(gates, g + 3 * hidden + j) + load(bias, 3 * hidden + j))
            now = fma(keep, load(old, r + j), enter * content)
            t = _tanh(now)
            store(gates, g + j, enter)
            store(gates, g + hidden + j, keep)
            store(gates, g + 2 * hidden + j, content)
            store(gates, g + 3 * hidden + j, show)
            store(cell, r + j, now)
            store(shown, r + j, t)
            store(out, r + j, show * t)


@kernel
def lstm_backward(gates, old, shown, dout, going, dcell):
    """Gradients of one step for B rows.

    gates [B, 4H], as `lstm_forward` left them, become the gradients before activation; old [B, H] is the cell before, shown
    [B, H] = tanh(cell), dout [B, H] the gradient of h. dcell [B, H] is the gradient of the cell after the step (of the first
    `going` rows; the others end here, so theirs is 0) and becomes that of the cell before.
    """
    rows, hidden = dout.shape
    one = splat(1.0)
    for b in range(rows):
        g, r = 4 * hidden * b, hidden * b
        for j in range(0, hidden, WIDTH):
            enter, keep = load(gates, g + j), load(gates, g + hidden + j)
            content, show = load(gates, g + 2 * hidden + j), load(gates, g + 3 * hidden + j)
            t, d = load(shown, r + j), load(dout, r + j)
            later = load(dcell, r + j) if b < going else splat(0.0)
            total = fma(d * show, one - t * t, later)
            store(gates, g + j, total * content * enter * (one - enter))
            store(gates, g + hidden + j, total * load(old, r + j) * keep * (one - keep))
            store(gates, g + 2 * hidden + j, total * enter * (one - content * content))
            store(gates, g + 3 * hidden + j, d * t * show * (one - show))
            store(dcell, r + j, total * keep)
