type u: union {0..3, boolean};
