// Package election tests on a real API server that two operators never work at the same time. Two processes of the operator reach the API
// server through links that drop and delay requests at random. The log of the links records when each request was sent and when it arrived.
// `make leader-election` runs the test for ten minutes, and `make test` runs it for less than one.
package election
