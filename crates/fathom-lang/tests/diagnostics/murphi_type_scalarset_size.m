type t: scalarset(0);
