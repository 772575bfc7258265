"""`python -m treeformers.annotation PROJECT retrain|propose NAME`: one round, in a process of its own."""

from __future__ import annotations

import os
import sys

from treeformers.annotation.project import Project
from treeformers.annotation.rounds import propose_from, retrain

if __name__ == "__main__":
    os.nice(5)  # whoever annotates meanwhile comes first
    path, action, name = sys.argv[1:]
    with Project.open(path) as project:
        if action == "propose":
            propose_from(project, name)
        else:
            retrain(project, name)
