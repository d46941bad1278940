// Package remedy provides advice on problems that Kubernetes, a container registry, or a Gateway reports. Most problems differ only in the
// wording of the report, so each table names the source of its wording.
package remedy
