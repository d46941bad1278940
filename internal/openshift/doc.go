// Package openshift uses what only OpenShift has: console objects, the TLS profile of the cluster, and serving certificates.
package openshift
