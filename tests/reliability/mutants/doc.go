// Package mutants restores bugs in the operator, one at a time, and expects the tests to catch each of them. A suite that misses known bugs
// also misses unknown ones. A mutant is compiled from a changed copy of a file, using the go command's overlay, so that nothing in the tree
// changes.
//
// The tests run only with RELIABILITY=all.
package mutants
