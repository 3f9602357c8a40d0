"""What the paper printed in its tables 1 to 5 (ICML 2023): facts to stand beside our own numbers, never mixed with them.

Percent throughout. The printed +- is given as printed: some are fractions and some points, and text and caption disagree on
whether they are standard deviations or standard errors (spec 11.2).
"""

from __future__ import annotations

from collections.abc import Iterable

from housemates.tasks.tasks import PAPER_TASKS

LABELS = {
    "pbt_state": "PBT-State",
    "gt_coord": "GT Coord",
    "sp": "SP",
    "pbt": "PBT",
    "fcp": "FCP",
    "trajedi": "TrajeDi",
    "bdp": "BDP",
    "bdp_literal": "BDP (literal)",
    "bdp_no_discriminator": "BDP-[Discrim]",
    "bdp_no_latent_no_discriminator": "BDP-[Discrim, Latent]",
    "bdp_shared_encoder": "BDP-[Latent (Shared Enc)]",
    "bdp_separate": "BDP-[Latent (Sep Enc)]",
    "bdp_rgb": "BDP (RGB)",
    "bdp_state": "BDP-State",
    "solo": "Solo",
}
"""The paper's names of the methods, in the order of its tables."""
OTHERS = {"hidden_utility": "Hidden utility", "cec": "CEC", "e3t": "E3T", "upd": "UPD"}
"""Names of methods that the paper does not have, as `methods.METHODS` has them."""


def label(method: str) -> str:
    """The name of a method in tables, with what is added to it (`bdp + look-ahead`); methods of users by their own."""
    name, plus, more = method.partition(" + ")
    return (LABELS.get(name) or OTHERS.get(name, name)) + plus + more


def method_order(method: str) -> tuple[int, str, str]:
    """Key to sort methods by: the paper's in its order, others, users'; each one before what is added to it."""
    known, (name, _, more) = (*LABELS, *OTHERS), method.partition(" + ")
    return (known.index(name) if name in known else len(known), name, more)


TASKS = tuple(task.name for task in PAPER_TASKS)
"""The paper's tasks, in the order of its tables."""


def in_order(tasks: Iterable[str]) -> tuple[str, ...]:
    """Tasks in the order of the paper's tables, then those that it does not have."""
    found = set(tasks)
    return (*(task for task in TASKS if task in found), *sorted(found.difference(TASKS)))


METHODS = ("pbt_state", "gt_coord", "sp", "pbt", "fcp", "trajedi", "bdp")
"""Columns of tables 1 and 5."""
GAIN_METHODS = ("pbt_state", "sp", "pbt", "fcp", "trajedi", "bdp")
"""Columns of table 2."""
DISCRIMINATOR = ("bdp_no_discriminator", "bdp_no_latent_no_discriminator", "pbt", "bdp")
"""Columns of table 3."""
ARCHITECTURE = ("bdp_shared_encoder", "bdp_separate", "bdp")
"""Columns of table 4."""
OWN_OBSERVATIONS = ("pbt_state", "bdp_rgb", "bdp_state")
"""Methods whose name says what they see; all others see depth in the paper."""

Printed = tuple[float, float | None]
"""Value and printed +-."""
PrintedTable = dict[tuple[str, str], dict[str, Printed]]
"""By (task, evaluation or type of held-out partner), then method."""


def read(methods: tuple[str, ...], text: str) -> PrintedTable:
    """Lines of `task kind value/pm value/pm ...`, one value per method; `-` where the paper has none."""
    table: PrintedTable = {}
    for line in text.strip().splitlines():
        task, kind, *values = line.split()
        cells = [(method, *value.split("/")) for method, value in zip(methods, values, strict=True) if value != "-"]
        table[task, kind] = {method: (float(value), float(error[0]) if error else None) for method, value, *error in cells}
    return table


SUCCESS = read(
    METHODS,
    """
    set_table         train_pop 70.74/0.05  90.52/0.05 57.74/0.01  46.67/0.02 29.90/0.07 43.24/0.09  74.81/0.01
    set_table         zsc       50.39/0.09  -          17.97/0.04  30.34/0.04 37.50/0.04 32.52/0.04  46.43/0.08
    tidy_house        train_pop 74.90/21.59 92.28/1.66 34.18/6.05  36.13/0.98 12.04/2.28 39.65/0.59  73.83/7.03
    tidy_house        zsc       68.08/0.09  -          52.67/0.06  56.88/0.07 34.07/0.09 63.58/0.05  66.71/0.05
    prepare_groceries train_pop 85.74/2.82  93.63/0.28 47.07/29.88 69.34/1.76 44.40/6.38 34.56/27.94 89.67/2.51
    prepare_groceries zsc       77.01/0.05  -          56.04/0.07  56.08/0.09 30.00/0.07 53.84/0.08  75.85/0.05
    """,
)
"""Table 1: success with the training population and with held-out partners."""
GAIN = read(
    GAIN_METHODS,
    """
    set_table         train_pop 84  49  34 -28 36 51
    set_table         zsc       58 -30 -13  -7 -1 19
    tidy_house        train_pop 85   6  10 -28 21 57
    tidy_house        zsc       57  16  24 -11 30 32
    prepare_groceries train_pop 77  26  45  18 12 71
    prepare_groceries zsc       52  22  21  -6 17 44
    """,
)
"""Table 2: cooperation efficiency gain."""
ABLATIONS = read(
    (*DISCRIMINATOR, *ARCHITECTURE[:2]),
    """
    set_table train_pop 77.18/0.00 42.16/0.01 46.67/0.02 74.81/0.01 50.09/0.01 39.19/0.00
    set_table zsc       22.92/0.05 33.20/0.04 30.34/0.04 46.43/0.08 33.40/0.06 26.76/0.06
    """,
)
"""Tables 3 and 4: what the discriminator and the shared policy with a latent are good for."""
BY_TYPE = read(
    GAIN_METHODS,
    """
    set_table         scripted 35.94/26.56  7.29/5.02  27.08/7.47  32.81/1.56  26.17/0.05  37.50/2.31
    set_table         learned  55.21/8.49  21.53/5.24  31.42/4.95  38.28/5.09  34.64/5.17  47.92/9.64
    tidy_house        scripted 43.26/15.71 35.72/9.14  38.54/11.52 17.35/11.29 39.95/8.87  46.90/9.11
    tidy_house        learned  77.39/10.11 59.02/7.69  63.76/8.75  41.04/10.80 72.44/5.08  74.14/3.61
    prepare_groceries scripted 60.00/0.00  54.86/17.89 50.70/15.56 29.06/12.63 42.09/17.53 60.42/15.76
    prepare_groceries learned  83.38/6.45  56.49/7.18  58.10/11.37 30.71/7.31  58.25/9.74  81.64/3.52
    """,
)
"""Table 5: zero-shot success by the type of the held-out partner."""
OBSERVATIONS = read(("bdp_rgb", "bdp", "bdp_state", "pbt_state"), "prepare_groceries zsc 70 76 80 77")
"""In the text: other observations, two seeds. The text rounds BDP once to 76 and once to 75 (table 1: 75.85)."""
