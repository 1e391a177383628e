"""`python -m eirene` is the command line."""

import sys

from eirene.cli import main

sys.exit(main())
