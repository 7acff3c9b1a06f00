#!/bin/sh
# Compares the simulator with what SST/macro 16.0 and SimGrid 3.32 gave on the same points: tables on standard output,
# figures and datasets in results/validation. Run by make, in the checkout's root. Points that have run are not run again.
set -u

PATH="$PWD/.venv/bin:$PATH"
out=results/validation
status=0

compare() {  # NAME FILE OPTION...
    name=$1
    shift
    echo
    tramontane compare "$@" --dataset "$out/$name.nc" >"$out/$name.txt.part"
    code=$?
    cat "$out/$name.txt.part"
    # What the command printed stays beside the figure drawn from the same rows.
    mv "$out/$name.txt.part" "$out/$name.table.txt"
    [ "$code" -eq 0 ] || status=$code
    [ "$code" -ge 2 ] || python -m analysis.draw "$out/$name.nc" "$out/$name" || status=1
}

mkdir -p "$out"
echo 'A. Compatibility mode: single runs, to be equal to the measured ones.'
compare sstmacro-pisces-16 validation/sstmacro-16.0.csv --model pisces-16
echo
echo 'B. Default mode against the same ensembles in compatibility mode: what the models differ by.'
compare sstmacro-ensembles validation/sstmacro-16.0.csv --model default --against ensemble
echo
echo 'C. Default mode against the measured single runs, each of which is one sample of a chaotic system.'
compare sstmacro-default validation/sstmacro-16.0.csv --model default
echo
echo 'D. Default mode against SimGrid, a fluid model: of use for allreduces, where nothing is congested.'
compare simgrid validation/simgrid-3.32.csv --model default --jitter '1 ns'
echo
echo "figures, datasets and tables: $out"
exit "$status"
