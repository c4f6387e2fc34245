"""Runs Vowpal Wabbit's own driver over a file and prints examples and progressive error as JSON.

usage: python3 vw.py VW_ARGUMENT ...      (with --data FILE and --binary among them)

A Workspace that is given --data parses and learns inside the engine (two threads), exactly as the `vw`
program does; Python only starts it. With --binary the loss that is summed is 0/1 loss.
"""

import json
import sys

from vowpalwabbit import Workspace

vw = Workspace(arg_list=sys.argv[1:])
examples = int(vw.get_weighted_examples())
errors = vw.get_sum_loss()
vw.finish()
print(json.dumps({"examples": examples, "error": errors / examples if examples else 0.0}))
