"""Random linear Gaussian networks by seed."""

import numpy as np

from tacita.models.continuous import GaussianNetwork, Line


def random_gaussian(attributes, seed, *, density=0.4, strength=(0.5, 1.5)):
    """Links go from earlier to later names with some probability; coefficients have a size within a range."""
    rng = np.random.default_rng([seed, attributes])
    names = [f"x{place}" for place in range(attributes)]
    lines = {}
    for place, name in enumerate(names):
        above = [other for other in names[:place] if rng.random() < density]
        sizes = rng.uniform(*strength, len(above)) * rng.choice([-1, 1], len(above))
        lines[name] = Line(
            intercept=float(rng.normal()),
            coefficients=dict(zip(above, sizes.tolist(), strict=True)),
            variance=float(rng.uniform(0.5, 2.0)),
        )
    return GaussianNetwork(lines=lines)
