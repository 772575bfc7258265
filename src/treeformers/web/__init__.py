"""The playground: a page that shows what models make of one's own sentences, and the service behind it.

Needs the extra `web`. `create_app` is the application for a server of one's own; `serve` runs it.
"""

from treeformers.web.api import create_app
from treeformers.web.engines import Engine, find_engines
from treeformers.web.limits import Limits
from treeformers.web.server import demo_model, serve

__all__ = ["Engine", "Limits", "create_app", "demo_model", "find_engines", "serve"]
