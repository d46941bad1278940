// Package openshift uses features that only OpenShift has: console objects, the cluster's TLS profile, and serving certificates.
package openshift
