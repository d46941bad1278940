// Package echo makes a cluster's objects match its Echoes, and writes their status.
//
// A reconcile reads everything from the cache before it writes anything. A reconcile of an Echo whose objects already match sends no
// requests. Events are sent after the status is written, so that no event is sent twice.
package echo
