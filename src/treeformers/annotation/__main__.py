"""`python -m treeformers.annotation PROJECT retrain|propose NAME`: one round, in a process of its own."""

from __future__ import annotations

import os
import sys

from treeformers.annotation.project import Project
from treeformers.annotation.rounds import propose_from, retrain

PATIENCE = 300.0
"""Seconds that a round waits for programs that write: it must not lose what it has trained."""

if __name__ == "__main__":
    os.nice(5)  # whoever annotates meanwhile comes first
    path, action, name = sys.argv[1:]
    with Project.open(path, PATIENCE) as project:
        if action == "propose":
            propose_from(project, name)
        else:
            retrain(project, name)
