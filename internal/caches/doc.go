// Package caches determines which objects of a cluster the operator keeps in memory, and which of their fields.
//
// The operator keeps all Echoes, the objects and pods that it created, the problems of nodes, and Gateways. A second cache holds the pods
// with the companion label, because a cache has only one selector per kind. Every replica fills its caches when it starts, whether or not
// it is the leader. A process sets up its caches once: if it needs other caches, it exits, and the next process sets them up.
package caches
