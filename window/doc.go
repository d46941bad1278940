// Package window lets people look into the operator, on the HTTPS endpoint that serves its metrics.
//
// access.go asks the API server who somebody is and what they may do, target.go says what they ask for, echoes.go and diagnostics.go
// answer from memory, view.go says what an answer shows of an Echo, log_level.go changes how much the process logs, and leader.go
// sends people from a replica that does not know to the one that does.
package window
