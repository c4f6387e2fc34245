"""Vowpal Wabbit's daemon, from the engine of the Python package: a line per example in, a line per prediction out.

usage: python3 vw_daemon.py PORT

What was learnt is lost with the process, unless it is told to save. Each of its child processes serves one connection at a time.
"""

import sys

import vowpalwabbit.pyvw as pyvw

ARGUMENTS = "--daemon --foreground --num_children 10 --loss_function logistic -q tf -b 22 --quiet --port"

vw = pyvw.Workspace(arg_list=[*ARGUMENTS.split(), sys.argv[1]])
# What the `vw` program does next; the package does so by itself only where it is given a file.
pyvw.pylibvw.vw.run_parser(vw)
