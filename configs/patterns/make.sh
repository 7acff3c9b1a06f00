#!/bin/sh
# Makes the tables of this folder: halos of one cell between the parts, by METIS, of an icosahedron of 81,920 triangles
# (about 80 km each); 64 levels of ten fields in double precision. Run in the checkout's root.
set -eu
for parts in 16 64 256 1024; do
    .venv/bin/tramontane pattern from-partition --icosahedron 6 --parts "$parts" --bytes 5120 \
        -o "configs/patterns/icosahedron-$parts.csv"
done

# Parts of GRIST's grids (cells around the points of an icosahedron), for programs (docs/patterns.md):
# hexagons-G<level>-<parts>-<layers of the halo>.npz. Partitioning G8 takes some seconds, so that its parts lie here.
parts() {
    .venv/bin/tramontane pattern from-partition --domains --icosahedron "$1" --cells hexagons --parts "$2" --width "$3" \
        -o "configs/patterns/hexagons-G$1-$2-$3.npz"
}
for parts in 4 16 32 64; do parts 4 "$parts" 2; done
for parts in 4 16 32 64 240 256 480 720 960 1024 1200 1440; do parts 7 "$parts" 2; parts 8 "$parts" 2; done
for parts in 64 240 480 960; do parts 7 "$parts" 1; parts 7 "$parts" 3; done
