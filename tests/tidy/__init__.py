"""The habits of this repository as tests: sizes, words, docstrings, layout, boundaries, lock file, requirements."""
