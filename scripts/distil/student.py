"""A vector for each piece of a word, such that their plain sum points where the model says the whole text points."""

import numpy as np

# More of them make rare words follow the few texts that have them.
EPOCHS = 4
BATCH = 512
RATE = 3e-3
CLAMP = 1e-4


def learn(pieces: list[np.ndarray], targets: np.ndarray, start: np.ndarray, dimensions: int) -> np.ndarray:
    """
    Return a row of `dimensions` numbers for each piece; a row's length says how much the piece counts.

    `pieces` are the numbers of each text's pieces, `targets` the directions of the texts, `start` those of the pieces
    read alone: where a piece that no text has stays.
    """
    targets = unit(targets - targets.mean(0))
    basis = np.linalg.svd(targets, full_matrices=False)[2][:dimensions].T
    targets = unit(targets @ basis)
    table = (start - start.mean(0)) @ basis
    # The vocabulary goes from common to rare, and common words count less.
    share = 1 / (np.arange(len(table)) + 1000)
    table *= (CLAMP / (CLAMP + share / share.sum()))[:, None]
    table = (table / np.abs(table).mean() / 20).astype(np.float32)
    mean, square = np.zeros_like(table), np.zeros_like(table)
    dice = np.random.RandomState(0)
    order = dice.permutation(len(pieces))
    steps = EPOCHS * -(-len(order) // BATCH)
    step = 0
    for epoch in range(EPOCHS):
        dice.shuffle(order)
        likeness = 0.0
        for begin in range(0, len(order), BATCH):
            chosen = order[begin : begin + BATCH]
            lengths = np.array([len(pieces[text]) for text in chosen])
            flat = np.concatenate([pieces[text] for text in chosen])
            sums = np.add.reduceat(table[flat], np.concatenate([[0], np.cumsum(lengths)[:-1]]), axis=0)
            norms = np.linalg.norm(sums, axis=1, keepdims=True) + 1e-8
            directions = sums / norms
            cosines = (directions * targets[chosen]).sum(1, keepdims=True)
            likeness += float(cosines.sum())
            slope = np.repeat((cosines * directions - targets[chosen]) / norms / len(chosen) * 100, lengths, axis=0)
            rows, place = np.unique(flat, return_inverse=True)
            by_row = np.argsort(place, kind="stable")
            slope = np.add.reduceat(slope[by_row], np.searchsorted(place[by_row], np.arange(len(rows))), axis=0)
            # Adam, but only for the rows of this batch: a rare piece must not drift.
            step += 1
            mean[rows] = 0.9 * mean[rows] + 0.1 * slope
            square[rows] = 0.99 * square[rows] + 0.01 * slope * slope
            table[rows] -= RATE * (1 - step / (steps + 1)) * mean[rows] / (np.sqrt(square[rows]) + 1e-6)
        print(f"epoch {epoch + 1} of {EPOCHS}: texts point as they should to {likeness / len(order):.3f}", flush=True)
    return table


def unit(rows: np.ndarray) -> np.ndarray:
    """Return the rows with length 1."""
    return rows / (np.linalg.norm(rows, axis=1, keepdims=True) + 1e-12)
