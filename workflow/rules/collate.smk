rule collate_experiment:
    input:
        manifest="results/{scale}/plan/experiments/{experiment}.json",
        batches=files.ended_batches,
        code=files.code_of_collating(),
    output:
        "results/{scale}/datasets/{experiment}.nc",
    log:
        "results/{scale}/logs/collate-{experiment}.log",
    conda:
        "../envs/collate.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    message:
        "collate the records of {wildcards.experiment}"
    shell:
        "exec tramontane collate {input.manifest} {output} > {log} 2>&1"
