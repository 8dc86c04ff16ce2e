//! The in-RAM judge of every engine: breadth-first search and Tarjan on the explicit graph. Test-only.
