// Package apply compares live objects with desired objects, as server-side apply does.
//
// The schema of a kind defines the keys that merge list items, and the lists and maps that are set as a whole. An object's managed fields
// define which fields the operator owns.
package apply
