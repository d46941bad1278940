// Package children decides what an Echo is made of, and compares that with what exists. Its functions are pure: they take objects
// and return objects, and send no requests.
//
// The table in children.go has one row for each kind of child. The file of each kind has its builder. Pods of a Deployment and
// companions share pod_spec.go and container.go. compare.go tells whether an object is as wanted, companion_plan.go what to do
// about a companion, and policy.go what the operator refuses.
package children
