// Package echo makes the objects of a cluster match its Echoes, and writes their status.
//
// A reconcile reads everything from the cache before it writes anything. A reconcile of an Echo that matches sends no request. Events are
// sent after the status was written, so that none is sent twice.
package echo
