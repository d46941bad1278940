// Package echo makes a cluster's objects match its Echoes, and writes their status.
//
// A reconcile reads everything from the cache before it writes anything. A reconcile of an Echo that already matches sends no requests.
// Events are sent after the status is written, so that none is sent twice.
package echo
