rule run_batch:
    input:
        "results/{scale}/plan/batches/{batch}.json",
    output:
        "results/{scale}/batches/{batch}.done",
    log:
        "results/{scale}/logs/batches/{batch}.log",
    priority: files.priority
    # With more memory or time, where that was lacking; the points that are there are not run again.
    retries: 4
    conda:
        "../envs/simulate.yaml"
    threads: files.threads
    resources:
        mem_mb=files.memory,
        runtime=files.runtime,
        cpus_per_task=files.threads,
        gpu=files.gpus,
    message:
        "run the points of batch {wildcards.batch}"
    shell:
        "exec tramontane run-batch {input} --threads {threads} > {log} 2>&1"
