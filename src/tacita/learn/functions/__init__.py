"""Functions as a service: released once, asked for ever; what leaves is answers."""

from tacita.learn.functions.kernel import Kernel
from tacita.learn.functions.recipe import FunctionPlan, ReleaseFunction

__all__ = ["FunctionPlan", "Kernel", "ReleaseFunction"]
