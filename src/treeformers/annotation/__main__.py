"""`python -m treeformers.annotation PROJECT START`: one round, in a process of its own."""

from __future__ import annotations

import os
import sys

from treeformers.annotation.project import Project
from treeformers.annotation.rounds import retrain

if __name__ == "__main__":
    os.nice(5)  # whoever annotates meanwhile comes first
    with Project.open(sys.argv[1]) as project:
        retrain(project, sys.argv[2])
