from .in_mongo import InMongo


class TestStreamed(InMongo):
    options = {"grouped_cells": 0, "checked": True}  # noqa: RUF012
