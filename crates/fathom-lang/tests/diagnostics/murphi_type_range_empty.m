const N: 0;
type t: 1..N;
