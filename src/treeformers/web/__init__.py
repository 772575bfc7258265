"""The playground: a web page that draws the trees of your sentences, and the service behind it (extra `web`).

`create_app` returns the application for any ASGI server; `serve` runs it.
"""

from treeformers.web.api import create_app
from treeformers.web.limits import Limits
from treeformers.web.models import ServedModel, find_models
from treeformers.web.server import demo_model, serve

__all__ = ["Limits", "ServedModel", "create_app", "demo_model", "find_models", "serve"]
