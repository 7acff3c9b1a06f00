#!/bin/sh
# Makes the tables of this folder: halos of one cell between the parts, by METIS, of an icosahedron of 81,920 triangles
# (about 80 km each); 64 levels of ten fields in double precision. Run in the checkout's root.
set -eu
for parts in 16 64 256 1024; do
    .venv/bin/tramontane pattern from-partition --icosahedron 6 --parts "$parts" --bytes 5120 \
        --to "configs/patterns/icosahedron-$parts.csv"
done
