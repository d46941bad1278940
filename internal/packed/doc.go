// Package packed keeps objects in a cache in few bytes. They are unpacked when they are read.
//
// The objects of different Echoes mostly differ in their names, UIDs and versions. What is left is the same text for many objects, which
// is kept once: see shared. To unpack an object gives exactly what was packed, so that a reader of the cache does not notice.
package packed
