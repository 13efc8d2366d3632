"""Run `benches.answers`."""

import sys

from benches.answers import main

sys.exit(main(sys.argv[1:]))
