from .in_mongo import InMongo


class TestGrouped(InMongo):
    adds = frozenset({"rows"})
