// Package mutants restores bugs in the operator, one at a time, and expects the tests to catch each of them. A suite that misses known bugs
// probably also misses unknown bugs. A mutant is compiled from a changed copy of a file. The go command's overlay replaces the original, so
// the source tree stays unchanged.
//
// The tests run only with RELIABILITY=all.
package mutants
