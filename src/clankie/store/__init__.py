"""The cellar: the only place that speaks SQL.

One file for each aggregate; a statement stands beside the mapping of its rows.
"""
