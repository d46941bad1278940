// Package election tests, on a real API server, that two operator replicas never work at the same time. Two operator processes connect to
// the API server through links that randomly drop and delay requests. The links record when each request was sent and when it arrived.
// `make leader-election` runs the test for ten minutes, and `make test` for less than one minute.
package election
