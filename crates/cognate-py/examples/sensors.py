"""Sensors that see the same process, one of them wired the wrong way round: the relation shows which.

Rows are arrays; `relations_` says who learns from whom. With matplotlib the heatmap is written beside this script.
"""

from pathlib import Path

import numpy as np

from cognate import Learner

SENSORS, ROWS, CHANNELS = 8, 6000, 20


def readings(seed: int = 3):
    """Channels, whether the alarm was right, and which sensor; sensor 5 has its sign the wrong way round."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(ROWS, CHANNELS))
    sensor = random.integers(0, SENSORS, ROWS)
    common, own = random.normal(size=CHANNELS), 0.3 * random.normal(size=(SENSORS, CHANNELS))
    weights = common + own
    weights[5] = -weights[5]
    margins = np.einsum("ij,ij->i", X, weights[sensor])
    return X, np.where(margins > 0, 1.0, -1.0), sensor


def main() -> None:
    X, y, sensor = readings()
    learner = Learner("relation-perceptron", relation="scale-free", tasks=[str(at) for at in range(SENSORS)])
    learner.partial_fit(X, y, sensor)
    alone = Learner("perceptron", interaction="independent").partial_fit(X, y, sensor)
    print(f"each alone: {alone.metrics_['error']:.1%} wrong, with a learned relation: {learner.metrics_['error']:.1%}")
    correlations = learner.correlations_ - np.eye(SENSORS)
    odd = int(correlations.sum(axis=1).argmin())
    print(f"sensor {odd} is opposed to the others: mean correlation {correlations[odd].sum() / (SENSORS - 1):+.2f}")
    try:
        axes = learner.plot_relations()
    except ImportError as error:
        print(error)
    else:
        path = Path(__file__).with_name("sensors.png")
        axes.figure.savefig(path, dpi=120)
        print(f"heatmap: {path.name}")


if __name__ == "__main__":
    main()
