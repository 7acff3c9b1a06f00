"""Tramontane: the communication of weather and climate models at a million processes, studied on one desktop.

One way through: YAML experiments are expanded into points (:mod:`tramontane.study`), a substrate runs each point once
(:mod:`tramontane.substrates`), records are stored and collated (:mod:`tramontane.results`), and a campaign drives all
of it through Snakemake (:mod:`tramontane.campaign`). Importing this package imports none of them, so that
``tramontane --help`` and the processes that run points start at once.
"""

__version__ = "0.1.0"
