"""The story of Stator in under a minute: `python -m demo`, or `make demo`.

models.py    two digit classifiers, written as anyone would write them
training.py  one training loop, for eager and static models alike
predict.py   a process that has only the saved files
__main__.py  the story, told with equalities that are checked
"""
