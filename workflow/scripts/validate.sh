#!/bin/sh
# Compares the simulator with what SST/macro 16.0 and SimGrid 3.32 gave on the same points, and judges what left-out rows
# of real machines were predicted to take (docs/validation.md): tables on standard output; figures, datasets and the
# tables' text in results/validation. Points that have run are not run again.
# Arguments: the tables wanted, by default A B C D E. Run by make, in the checkout's root.
set -u

PATH="$PWD/.venv/bin:$PATH"
out=results/validation
status=0

compare() {  # NAME OPTION...: one table and its figure
    name=$1
    shift
    echo
    tramontane compare "$@" --dataset "$out/$name.nc" >"$out/$name.table.txt"
    code=$?
    cat "$out/$name.table.txt"
    [ "$code" -eq 0 ] || status=$code
    # Points that failed leave the others to be drawn; a mistake leaves nothing.
    if [ "$code" -lt 2 ]; then
        python -m analysis.draw "$out/$name.nc" "$out/$name" || status=1
    fi
    echo
}

mkdir -p "$out"
for table in ${*:-A B C D E}; do
    case $table in
    A)
        echo 'A. Compatibility mode: single runs, to be equal to the measured ones.'
        compare sstmacro-pisces-16 validation/sstmacro-16.0.csv --model pisces-16
        ;;
    B)
        echo 'B. Default mode against the same ensembles in compatibility mode: what the models differ by.'
        compare sstmacro-ensembles validation/sstmacro-16.0.csv --model default --against ensemble
        ;;
    C)
        echo 'C. Default mode against the measured single runs, each of which is one sample of a chaotic system.'
        compare sstmacro-default validation/sstmacro-16.0.csv --model default
        ;;
    D)
        echo 'D. Default mode against SimGrid, a fluid model: of use for allreduces, where nothing is congested.'
        compare simgrid validation/simgrid-3.32.csv --model default --jitter '1 ns'
        ;;
    E)
        echo 'E. Real machines: each row predicted without the rows of its shape, first by the simulator, then by a closed form.'
        compare left-out-simulated validation/measured/pico.csv --predictions validation/predictions/simulated/left-out
        compare left-out validation/measured/pico.csv --predictions validation/predictions/left-out
        ;;
    *)
        echo "TABLES: found '$table'; allowed: A, B, C, D, E" >&2
        exit 2
        ;;
    esac
done
echo "figures, datasets and tables: $out"
exit "$status"
