// Package caches determines what the operator keeps of a cluster in memory: which objects, and which of their fields.
//
// The operator keeps all Echoes, the objects and pods that it created, the problems of nodes, and Gateways. A second cache holds the pods
// with the companion label, because a cache has one selector for each kind. Every replica fills its caches when it starts, whether it
// leads or not. Caches are set up once: a process that needs other ones ends, and the next one sets them up.
package caches
