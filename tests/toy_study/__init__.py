"""A toy study, whole: does a judge take its answer back when it is told that somebody disagrees?

It is what CONTRIBUTING.md walks through: a folder, and the one line of `registered`.
"""

from evenhand.registry import Study

KEY = "toy"
TOY = Study(
    section="tests.toy_study.section:ToySection",
    evaluation="tests.toy_study.evaluation:EVALUATION",
    training="tests.toy_study.training:TRAINING",
)
