// Package openshift uses what only OpenShift has.
package openshift
