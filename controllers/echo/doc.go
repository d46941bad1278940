// Package echo makes a cluster's objects match its Echoes, and writes the status of the Echoes.
//
// A reconcile reads everything from the cache before it writes anything. A reconcile of an Echo whose objects already match its spec sends
// no requests. Events are sent after the status is written, so that no event is sent twice.
package echo
