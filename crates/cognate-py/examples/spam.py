"""A spam filter for every user, most of whom get little mail: what one marks helps the others.

Words are features by name. Every mail is judged before its user says what it is.
"""

import numpy as np

from cognate import Learner, progressive

USERS, MAILS, WORDS = 40, 6000, 400


def mails(seed: int = 7):
    """Mail by mail: words, whether it is spam, whose it is. Users agree on most words, and each has a taste."""
    random = np.random.default_rng(seed)
    common = random.normal(size=WORDS)
    taste = random.normal(size=(USERS, WORDS))
    # A few users get most of the mail.
    share = 1 / np.arange(1, USERS + 1)
    for user in random.choice(USERS, MAILS, p=share / share.sum()):
        words = random.choice(WORDS, 12, replace=False)
        spam = (common[words] + taste[user, words]).sum() > 0
        yield {f"word{word}": 1.0 for word in words}, spam, f"user{user}"


def main() -> None:
    for name, interaction in [("each alone", "independent"), ("all as one", "pooled"), ("related", None)]:
        model = Learner("adaptive", interaction=interaction)
        *_, last = progressive(model, mails())
        print(f"{name:>10}: {last.error:.1%} of {last.examples} mails judged wrong, {last.tasks} users")
    strongest = sorted(model.weights("user0").items(), key=lambda pair: -abs(pair[1]))[:3]
    print("user0 goes by", ", ".join(f"{word} ({weight:+.2f})" for word, weight in strongest))


if __name__ == "__main__":
    main()
