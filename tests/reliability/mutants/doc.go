// Package mutants puts bugs back into the operator, one at a time, and expects that the tests catch each of them: a suite that misses known
// bugs also misses unknown ones. A mutant is compiled from a changed copy of a file, using the go command's overlay, so that nothing in the
// tree changes.
//
// It runs only with RELIABILITY=all.
package mutants
