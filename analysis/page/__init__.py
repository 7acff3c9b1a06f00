"""Parts of the report: experiments, statements of the papers, tables, plots that can be asked."""
