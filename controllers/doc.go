// Package controllers makes the cluster agree with its Echoes.
//
// One pass over an Echo reads what is there, decides what differs from what is wanted, applies that, and publishes what it
// saw. A pass decides from the objects themselves and never from the status it wrote, so it may be cut short anywhere and
// begun again. A pass over a converged Echo sends nothing.
//
// What is decided is in functions without a client: children.go and the files named after what an Echo is made of say what is
// wanted, drift.go whether something differs, cause.go why pods are missing, status.go what to report, transitions.go which
// events that makes, failure.go what an error calls for. What talks to the API server is in echo_controller.go, converge.go,
// pods.go, deletion.go and publish.go.
//
// Nodes have no passes of their own: node_problem.go says what is wrong with one and what that means to the Echoes that have pods
// there, and node_watch.go has those Echoes looked at.
//
// What a process did is in journal.go, for people who look into it.
//
// A pod that asks for a companion has passes of its own: companion_plan.go decides, companion_pod.go says what a companion is,
// companion_controller.go talks to the API server, companion_watch.go says what calls for a pass, and companion_cache.go holds the
// pods that ask.
package controllers
