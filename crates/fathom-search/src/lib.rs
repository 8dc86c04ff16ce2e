//! Graph to verdict: search bodies, and the engines that are their policies.
