// Package remedy returns advice on problems that Kubernetes, a container registry or a Gateway reports. Only the words of a report
// distinguish most cases, so each table names the source of the words.
package remedy
