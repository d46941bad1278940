// Package caches determines which objects in a cluster the operator caches, and which of their fields it keeps.
//
// The operator caches all Echoes, their objects and pods, the conditions of nodes, and Gateways. A second cache holds the pods with the
// companion label, because a cache has only one selector per kind. Every replica fills its caches when it starts, whether or not it is the
// leader. A process sets up its caches only once. If it needs different caches, it exits, and the next process sets them up.
package operator
