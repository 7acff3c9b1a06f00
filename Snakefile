# The campaign as a graph of files. `tramontane reproduce` (and so `make reproduce`) plans it and starts it; see
# docs/workflow.md for calling Snakemake directly.
from snakemake.utils import min_version

min_version("9.0")


include: "workflow/rules/common.smk"
include: "workflow/rules/build.smk"
include: "workflow/rules/simulate.smk"
include: "workflow/rules/measure.smk"
include: "workflow/rules/analyse.smk"


localrules:
    reproduce,
    build_program,
    measure_batch,
    draw_figure,
    draw_sheet,
    draw_schematics,
    draw_study,
    write_report,


rule reproduce:
    default_target: True
    input:
        files.targets(config.get("scale", "laptop")),
