// Package controllers holds what the reconcilers share: how they read, write and delete objects, report failures, and remember.
//
// Each reconciler is a package below: echo for the objects of an Echo, check for its path checks, podmonitor for its PodMonitor, and
// companion for pods that ask for an echo server. A reconcile may be interrupted anywhere and repeated.
package controllers
