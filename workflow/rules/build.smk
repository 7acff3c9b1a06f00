# The skeleton program, for calling by hand:  snakemake build/mpi-openmpi/tramontane-mpi
# Whatever runs points with MPI builds it by itself, too, where it is not there or its sources have changed.
rule build_program:
    input:
        files.code_of_skeleton(),
    output:
        "build/mpi-{environment}/tramontane-mpi",
    log:
        "build/mpi-{environment}.log",
    conda:
        "../envs/build.yaml"
    threads: 2
    resources:
        mem_mb=1500,
        runtime=10,
    message:
        "build tramontane-mpi with {wildcards.environment}"
    shell:
        "exec python -m tramontane.substrates.mpi.build {wildcards.environment} > {log} 2>&1"
