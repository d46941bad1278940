// Package status decides what a pass over an Echo means: its status, and the events that report what changed. Its functions are
// pure: they take what the pass observed and return values, and send no requests.
//
// Evaluate in status.go is called once for each pass. verdict.go decides the conditions, rollout.go reads the Deployment, cause.go
// finds out why pods are missing, pod.go and node.go say how pods and nodes are, transition.go what events report, and failure.go what
// an error calls for.
package status
