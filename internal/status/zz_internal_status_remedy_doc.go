// Package remedy provides advice on problems that Kubernetes, a container registry, or a Gateway reports. Most problems can be
// distinguished only by the wording of the report, so each table names the source of its wording.
package status
