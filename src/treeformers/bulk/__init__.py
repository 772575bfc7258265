"""Parsing that takes long: millions of lines to shards of trees, in constant memory, safe against any stop.

A shard is so many lines of one input file, and takes its place in one step when it is done: a shard that is
there is whole, and one that is not is made again. Each line of the input has its line there. A manifest
beside the shards says what they are of, so that a run only goes on with what it was begun with. The shards
are the same bytes whether one process makes them, several, or the machines of a Ray cluster.
"""

from treeformers.bulk.run import MANIFEST, NAMED, SHARD_LINES, Progress, Summary, parse_files
from treeformers.bulk.shards import CHUNK, Shard, parse_lines

__all__ = [
    "CHUNK",
    "MANIFEST",
    "NAMED",
    "SHARD_LINES",
    "Progress",
    "Shard",
    "Summary",
    "parse_files",
    "parse_lines",
]
