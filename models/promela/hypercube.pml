/* The system of models/hypercube.dve, for comparison: 524288 states, 9961472 transitions. */

active [19] proctype Switch() {
    bit on;
    do
    :: on = 1 - on
    od
}
