"""The templates of the console's pages."""

from __future__ import annotations

from pathlib import Path

from starlette.templating import Jinja2Templates

# Jinja2 escapes what a template shows; Starlette switches that on for every template.
TEMPLATES = Jinja2Templates(Path(__file__).parent / "templates")
