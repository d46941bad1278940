// Package apply compares live objects with the desired ones, as server-side apply does.
//
// The schema of a kind defines the keys by which the items of a list are merged, and the lists and maps that are set as a whole. The
// managed fields of an object define which fields the operator owns.
package apply
