"""`python -m housemates` is the same as the command `housemates`."""

import sys

from housemates.cli.main import main

sys.exit(main())
