/* The system of models/torus_3d.dve, for comparison: 2985984 states, 17915904 transitions. */

byte x, y, z;

active proctype Walker() {
    do
    :: x = (x + 1) % 144
    :: x = (x + 143) % 144
    :: y = (y + 1) % 144
    :: y = (y + 143) % 144
    :: z = (z + 1) % 144
    :: z = (z + 143) % 144
    od
}
