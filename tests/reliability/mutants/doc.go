// Package mutants puts bugs back into the operator, one at a time, and expects that the tests catch each of them: a suite that does not
// see the bugs that are known does not see those that are not. A mutant is compiled from a changed copy of a file, by the overlay of the
// go command, so that nothing in the tree changes.
//
// It runs only with RELIABILITY=all.
package mutants
