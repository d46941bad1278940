// Package remedy says what to do about what Kubernetes, a container registry or a Gateway reports. Only their words distinguish most cases,
// so that each table names the source of the words.
package remedy
