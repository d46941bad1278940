// Package remedy returns advice on problems that Kubernetes, a container registry or a Gateway reports. Most cases differ only in the
// wording of the report, so each table names the source of its wording.
package remedy
