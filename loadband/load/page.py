"""What Locust's web page may ask: values are checked before they reach the options, and no statistics are reset.

Knows: the page's form and our options. Must not know: what is done with their values.

Locust takes over whatever a form says, and finds out when the test runs: users that die of a traceback, or a server
error. Here a wrong value is one sentence, on the page and on the console, and no test starts.
"""

import argparse
from collections.abc import Mapping

from flask import jsonify, request
from flask.typing import ResponseReturnValue
from locust import argument_parser
from locust.web import WebUI

from loadband.errors import UsageError, complain
from loadband.load.options import FROM_THE_PAGE
from loadband.load.steward import Steward


def guard_page(web_ui: WebUI, steward: Steward) -> None:
    """Look at each request of the page before Locust does."""
    app = web_ui.app
    if app is None:
        raise RuntimeError("the page has no application")
    actions = {action.dest: action for action in argument_parser.get_parser()._actions}

    @app.before_request
    def look() -> ResponseReturnValue | None:
        path = request.path
        try:
            if path.endswith("/swarm") and request.method == "POST":
                check_form(actions, request.form)
            elif path.endswith("/stats/reset") and steward.under_way:
                raise UsageError(
                    "the statistics of a run are not reset: its files and the table must agree; stop first"
                )
        except UsageError as error:
            complain(error)
            return jsonify({"success": False, "message": str(error), "host": web_ui.environment.host})
        return None


def check_form(actions: Mapping[str, argparse.Action], form: Mapping[str, str]) -> None:
    """Raise UsageError of the first value that its option would refuse on the command line."""
    for name in FROM_THE_PAGE & set(form):
        action, value = actions[name], form[name]
        option = action.option_strings[0]
        try:
            if callable(action.type):
                action.type(value)
        except (argparse.ArgumentTypeError, ValueError) as error:
            told = str(error) if isinstance(error, argparse.ArgumentTypeError) else f"'{value}' is no whole number"
            raise UsageError(f"{option}: {told}") from None
        if action.choices is not None and value not in action.choices:
            raise UsageError(f"{option}: choose of {', '.join(action.choices)}")
