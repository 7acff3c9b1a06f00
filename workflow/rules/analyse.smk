rule draw_figure:
    input:
        manifest="results/{scale}/plan/experiments/{experiment}.json",
        batches=files.ended_batches,
        code=files.code_of_analysis(),
    output:
        report(campaign.figure_outputs()[:1], category="Figures"),
        campaign.figure_outputs()[1:],
        dataset="results/{scale}/datasets/{experiment}.nc",
    log:
        "results/{scale}/logs/draw-{experiment}.log",
    conda:
        "../envs/analyse.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        stem="results/{scale}/figures/{experiment}",
    message:
        "collate the records of {wildcards.experiment} and draw its figure"
    shell:
        "exec python -m analysis.draw --or-say-why --collate {input.manifest} {output.dataset} {params.stem}"
        " > {log} 2>&1"


rule draw_sheet:
    input:
        shown="results/{scale}/plan/shown.json",
        datasets=files.datasets_of_sheet,
        code=files.code_of_analysis(),
    output:
        report(campaign.sheet_outputs()[:1], category="Figures"),
        campaign.sheet_outputs()[1:],
    log:
        "results/{scale}/logs/draw-sheet-{sheet}.log",
    conda:
        "../envs/analyse.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        stem="results/{scale}/sheets/{sheet}",
    message:
        "draw the panels of {wildcards.sheet} together"
    shell:
        "exec python -m analysis.draw --or-say-why {input.datasets} {params.stem} > {log} 2>&1"


rule draw_schematics:
    input:
        files.code_of_analysis(),
    output:
        campaign.schematic_outputs(),
    log:
        "results/{scale}/logs/draw-schematics.log",
    conda:
        "../envs/analyse.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        folder="results/{scale}/schematics",
    message:
        "draw the schedules"
    shell:
        "exec python -m analysis.schematics {params.folder} > {log} 2>&1"


rule draw_study:
    input:
        study="published/studies/{study}-{scale}.json",
        code=files.code_of_studies(),
    output:
        campaign.study_outputs(),
    log:
        "results/{scale}/logs/draw-study-{study}.log",
    conda:
        "../envs/analyse.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        stem="results/{scale}/studies/{study}/shares",
    message:
        "draw what is published of the study {wildcards.study}"
    shell:
        "exec python -m analysis.shares {input.study} {params.stem} > {log} 2>&1"


rule write_report:
    input:
        shown="results/{scale}/plan/shown.json",
        datasets=files.datasets,
        figures=files.figures,
        code=files.code_of_report(),
    output:
        "results/{scale}/report.html",
    log:
        "results/{scale}/logs/report.log",
    conda:
        "../envs/analyse.yaml"
    params:
        command=files.command,
    message:
        "write the report"
    shell:
        "exec python -m analysis.report --scale {wildcards.scale} --command {params.command:q} --out {output}"
        " {input.datasets} > {log} 2>&1"
