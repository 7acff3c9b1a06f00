rule run_batch:
    input:
        "results/{scale}/plan/batches/{batch}.json",
    output:
        "results/{scale}/batches/{batch}.done",
    log:
        "results/{scale}/logs/batches/{batch}.log",
    conda:
        "../envs/tramontane.yaml"
    message:
        "run the points of batch {wildcards.batch}"
    priority: files.priority
    threads: 1
    resources:
        mem_mb=files.memory,
        runtime=files.runtime,
    shell:
        "exec tramontane run-batch {input} > {log} 2>&1"
