// Package election tests that two operators never work at the same time, on a real API server. Two processes of the operator reach it
// through links that drop and delay requests at random. The log of the links shows when each request was sent and when it arrived. `make
// leader-election` runs the test for ten minutes, `make test` for less than one.
package election
