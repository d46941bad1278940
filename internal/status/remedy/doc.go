// Package remedy says what to do about problems that Kubernetes, a container registry or a Gateway reports. Only their words distinguish
// most cases, so each table names the source of the words.
package remedy
