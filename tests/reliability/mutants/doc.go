// Package mutants reintroduces bugs in the operator, one at a time, and expects the tests to catch each of them. A suite that misses known
// bugs probably also misses unknown bugs. The go command's overlay replaces a file with a changed copy, so the source tree stays unchanged.
//
// The tests run only with RELIABILITY=all.
package mutants
