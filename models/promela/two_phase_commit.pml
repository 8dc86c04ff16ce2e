/* The system of models/two_phase_commit.dve, for comparison: 1133795 states, 9529624 transitions. Locations are variables, since
   one process asks for the location of another. */

#define MEMBERS 9

#define collects 0
#define commits 1
#define aborts 2
#define crashed 3

#define working 0
#define ready 1
#define down 2
#define committed 3
#define aborted 4

byte yes, no, coordinator;

active proctype Coordinator() {
    do
    :: d_step { coordinator == collects && yes == MEMBERS -> coordinator = commits }
    :: d_step { coordinator == collects && no > 0 -> coordinator = aborts }
    :: d_step { coordinator == collects -> coordinator = crashed }
    od
}

active [MEMBERS] proctype Member() {
    byte at;
    do
    :: d_step { at == working && coordinator == collects -> at = ready; yes = yes + 1 }
    :: d_step { at == working -> at = aborted; no = no + 1 }
    :: d_step { at == ready -> at = down }
    :: d_step { at == down -> at = ready }
    :: d_step { at == ready && coordinator == commits -> at = committed }
    :: d_step { at == ready && coordinator == aborts -> at = aborted }
    od
}
