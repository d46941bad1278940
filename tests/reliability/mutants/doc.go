// Package mutants puts bugs into the product, one at a time, and reports which test catches each of them. Some are known bugs of the operator,
// which a test must catch. Others are drawn from all changes that a few rules allow, so that no one chooses bugs that the tests are good at. A
// suite that misses these bugs probably also misses unknown bugs. The go command's overlay replaces a file with a changed copy, so the source
// tree stays unchanged.
//
// The tests run only with RELIABILITY=all.
package mutants
