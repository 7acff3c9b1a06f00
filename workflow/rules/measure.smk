rule measure_batch:
    input:
        "results/{scale}/plan/batches/{batch}.json",
    output:
        "results/{scale}/measured/{batch}.done",
    log:
        "results/{scale}/logs/batches/{batch}.log",
    priority: files.priority
    conda:
        "../envs/measure.yaml"
    # All cores, whatever their number: nothing is to run beside what is measured.
    threads: 4096
    resources:
        mem_mb=files.memory,
        runtime=files.runtime,
    message:
        "measure the points of batch {wildcards.batch}"
    shell:
        "exec tramontane run-batch {input} > {log} 2>&1"
