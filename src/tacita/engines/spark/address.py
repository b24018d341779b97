"""Addresses of data that Spark counts.

spark:/data/people                      files, counted by the Spark that its own configuration names, else here
spark:s3://bucket/people                files in a store
spark://host:7077/data/people           files, counted by the cluster with this master
spark://host:7077/s3://bucket/people    files in a store, counted by that cluster
spark:, spark://host:7077               a table of Spark's catalog, which is named beside the address
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tacita.engines.local.files.stored import is_stored
from tacita.errors import InvalidInput

__all__ = ["SPARK", "SparkAddress", "drafted_from", "is_spark", "is_spark_frame"]

SPARK = "spark:"


def is_spark(address: str) -> bool:
    """Whether an address names data that Spark counts.

    >>> is_spark("spark:people.parquet"), is_spark("people.parquet")
    (True, False)
    """
    return address.lower().startswith(SPARK)


def is_spark_frame(source: Any) -> bool:
    """Whether something is a frame of Spark; imports nothing of Spark."""
    return type(source).__module__.startswith("pyspark.sql") and hasattr(source, "sparkSession")


@dataclass(frozen=True)
class SparkAddress:
    """Place of the data, and the cluster that counts it.

    Attributes:
        master: Address of the cluster's master; None for the one that Spark's own configuration names.
        path: A file, a folder or an address in a store; None for a table.
    """

    master: str | None
    path: str | None

    @classmethod
    def parse(cls, address: str) -> SparkAddress:
        """Read an address.

        >>> SparkAddress.parse("spark://host:7077/data/people")
        SparkAddress(master='spark://host:7077', path='/data/people')
        >>> SparkAddress.parse("spark:people.csv")
        SparkAddress(master=None, path='people.csv')
        """
        rest = address[len(SPARK) :]
        if not rest.startswith("//"):
            return cls(None, rest or None)
        host, slash, path = rest[2:].partition("/")
        if "@" in host:
            raise InvalidInput("must hold no credentials", field="source", value=SPARK, hint="Set them in Spark's conf")
        if host and not all(
            part.rpartition(":")[0] and part.rpartition(":")[2].isdecimal() for part in host.split(",")
        ):
            raise InvalidInput(
                "must name the master as host:port",
                field="source",
                value=f"{SPARK}//{host}",
                hint="Write spark://host:7077/data/people, or spark:/data/people for the Spark that is configured here",
            )
        master = f"{SPARK}//{host}" if host else None
        if not path:
            return cls(master, None)
        return cls(master, path if is_stored(path) else slash + path)


def drafted_from(address: str) -> str:
    """Return the files behind an address: a draft of a schema reads them on this machine."""
    if not is_spark(address):
        return address
    path = SparkAddress.parse(address).path
    if path is None:
        raise InvalidInput(
            "a schema is drafted from files",
            field="source",
            value=address,
            hint="Write some rows of the table as Parquet",
        )
    return path
