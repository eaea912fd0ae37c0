package search

// Settle is for tests of other packages.
const Settle = settle
