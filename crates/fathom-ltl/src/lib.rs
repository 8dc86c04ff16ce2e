//! LTL formula to Büchi automaton to product; direct evaluation of a formula on a lasso.
