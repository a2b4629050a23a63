"""How well a base is searched: data sets of questions, measures, comparison of two runs, gates."""
