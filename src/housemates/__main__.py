"""`python -m housemates` is the same as the command `housemates`."""

import sys

from housemates.cli import main

sys.exit(main())
